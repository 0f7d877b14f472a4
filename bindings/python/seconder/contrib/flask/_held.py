"""A login that waits for its second factor, and the session's mark of one that has passed it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from flask import current_app, session

from seconder.contrib import is_fresh
from seconder.errors import InvalidArgument

HELD = "_seconder_held"
"""The key in the session of the login that waits for its second factor."""
PASSED = "_seconder_passed"
"""The key in the session of the account that passed the second factor, and when."""


@dataclass(frozen=True)
class HeldLogin:
    """A login whose password was right, and which waits for its second factor."""

    account: str
    """The account, by the id that the application gave."""
    user_id: int
    """The user's id with the service."""
    expires_at: datetime
    """When the user has to type the password again."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The data that the application keeps with the login."""
    uuid: str | None = None
    """The approval request of the login, if it has one."""


def hold(
    account: object, user_id: int, seconds: float, data: Mapping[str, Any], keep: Iterable[str]
) -> HeldLogin:
    """Puts a login into a new session."""
    if not isinstance(user_id, int) or isinstance(user_id, bool) or user_id < 1:
        message = "user_id must be the user's id with the service: the account has no second factor"
        raise InvalidArgument(message, parameter="user_id")
    renew(keep)
    until = time.time() + seconds
    session[HELD] = {"account": str(account), "user": user_id, "until": until, "data": dict(data)}
    held = read()
    assert held is not None
    return held


def read() -> HeldLogin | None:
    """Returns the session's login, if it has not expired."""
    held = session.get(HELD)
    if held is None:
        return None
    if held["until"] < time.time():
        del session[HELD]
        return None
    return HeldLogin(
        account=held["account"],
        user_id=held["user"],
        expires_at=datetime.fromtimestamp(held["until"], timezone.utc),
        data=held["data"],
        uuid=held.get("uuid"),
    )


def record_request(uuid: str) -> None:
    """Records the approval request of the login."""
    session[HELD] = {**session[HELD], "uuid": uuid}


def mark(account: str, keep: Iterable[str]) -> None:
    """Marks a new session as one in which the account has passed the second factor."""
    renew(keep)
    session[PASSED] = {"account": account, "at": time.time()}


def passed(account: str | None, max_age: float | None) -> bool:
    """Returns whether the session has the mark: of this account, and not older than this."""
    found = session.get(PASSED)
    if found is None or account not in (None, found["account"]):
        return False
    return max_age is None or is_fresh(found["at"], max_age)


def renew(keep: Iterable[str]) -> None:
    """Empties the session, under a new id if the server stores it: an attacker who planted the old
    one must not share the new session."""
    kept = {name: session[name] for name in keep if name in session}
    session.clear()
    regenerate = getattr(current_app.session_interface, "regenerate", None)
    if regenerate is not None:
        regenerate(session)
    session.update(kept)
