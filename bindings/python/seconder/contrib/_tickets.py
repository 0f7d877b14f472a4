"""Approval requests in the hands of browsers."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import NamedTuple

from seconder._frames import guarded_class
from seconder.errors import InvalidArgument

_PURPOSE = "seconder.contrib approval of a login"


class Ticket(NamedTuple):
    """An approval request of a login."""

    uuid: str
    """The id of the request with the service."""
    until: int
    """Until when it can let its user in, in seconds since 1970."""

    @property
    def expired(self) -> bool:
        """Returns whether it can no longer let its user in."""
        return self.until <= time.time()


@guarded_class
class Tickets:
    """Signs the id of an approval request together with the user and the login that it is for, and
    a time limit. The service knows more requests of the same user: for other purposes, logins and
    days."""

    def __init__(self, secret: str, seconds: int) -> None:
        """Checks the settings.

        Args:
            secret: The secret that signs.
            seconds: How long a request can let its user in, in seconds.

        Raises:
            InvalidArgument: One is invalid.
        """
        if not isinstance(secret, str) or len(secret) < 16:
            message = "secret must be text of at least 16 characters"
            raise InvalidArgument(message, parameter="secret")
        # For a service, 0 is a request that never expires.
        if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1:
            message = "approval_seconds must be a whole number of 1 or more"
            raise InvalidArgument(message, parameter="approval_seconds")
        self._secret = secret.encode()
        self.seconds = seconds

    def issue(self, uuid: str, user_id: int, login: str) -> str:
        """Returns the text for the browser.

        Args:
            uuid: The id of a request that was made just now.
            user_id: The user whom it asks.
            login: The login.
        """
        until = int(time.time()) + self.seconds
        return f"{uuid}.{until}.{self._sign(uuid, until, user_id, login)}"

    def read(self, text: str, user_id: int, login: str) -> Ticket | None:
        """Returns the request, or None if it was not issued for this user and login.

        Args:
            text: What the browser sent.
            user_id: The user of the login.
            login: The login.
        """
        rest, _, signature = text.rpartition(".")
        uuid, _, number = rest.rpartition(".")
        if not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        right = self._sign(uuid, int(number), user_id, login)
        if not hmac.compare_digest(right.encode(), signature.encode()):
            return None
        return Ticket(uuid, int(number))

    def _sign(self, uuid: str, until: int, user_id: int, login: str) -> str:
        signed = json.dumps([_PURPOSE, uuid, until, user_id, login]).encode()
        return hmac.new(self._secret, signed, hashlib.sha256).hexdigest()
