"""What must hold whatever is called."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter, deque
from typing import Any

import seconder
from seconder import totp

from values import SECRET, OwnError

ALLOWED = (seconder.SecondFactorError, OwnError)
SHORTEST_SECRET = 6
"""Shorter ones occur in other texts by chance."""


class Violation(AssertionError):
    """Something does not hold."""


class Checks(logging.Handler):
    """Knows every code and secret that a service issued, and checks what calls do with them."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._issued: dict[str, set[str]] = {}
        """The numbers that a code was sent to; for a recovery code, nobody's."""
        # By the id of the user as text, because calls also take it as text.
        self._uris: dict[str, list[str]] = {}
        self._numbers: dict[str, str] = {}
        self._accepted: set[tuple[str, str]] = set()
        self._secrets: set[str] = set()
        self.known: dict[str, list[Any]] = {}
        """Values that calls returned, by the parameter that takes them."""
        self.violations: list[str] = []
        self.made: Counter[str] = Counter()
        """The steps, by the call or function."""
        self.done: Counter[str] = Counter()
        """Those that returned."""
        self.steps: dict[str, deque[str]] = {}
        """The latest steps of each thread."""

    # What is issued.

    def keep(self, name: str, value: Any) -> None:
        with self._lock:
            self.known.setdefault(name, []).append(value)

    def secret(self, value: str) -> None:
        with self._lock:
            self._secrets.add(value)

    def delivered(self, message: seconder.Message) -> None:
        """The function ``deliver`` of every service."""
        if not message.code:
            return
        with self._lock:
            self._issued.setdefault(message.code, set()).add(_digits(message.to))
            self._secrets.add(message.code)
        for name in ("token", "code", "verification_code"):
            self.keep(name, message.code)

    # What calls return.

    def returned(self, name: str, arguments: dict[str, Any], reply: Any, now: float) -> None:
        """Checks the reply to a call that began at that time, by the clock of its service."""
        if name == "create_user":
            self.keep("user_id", reply.user_id)
            if arguments.get("cellphone") is not None:
                number = _digits(arguments["country_code"], arguments["cellphone"])
                self._numbers[str(reply.user_id)] = number
        elif name == "enrol_authenticator":
            self._uris.setdefault(str(arguments["user_id"]), []).append(reply.uri)
            self.secret(re.findall(r"secret=(\w+)", reply.uri)[0])
            self.keep("uri", reply.uri)
        elif name == "create_recovery_codes":
            for code in reply.codes:
                self._issued.setdefault(code, set())
                self.keep("token", code)
        elif name == "register_device":
            self.secret(reply.secret)
            self.keep("device_id", reply.device_id)
            self.keep("device_secret", reply.secret)
        elif name in ("create_approval", "start_phone_verification") and reply.uuid:
            self.keep("uuid", reply.uuid)
            if name == "create_approval" and reply.number is not None:
                self.keep("number", reply.number)
        elif name == "verify":
            self._verified(arguments, now)
        elif name == "check_phone_verification":
            number = _digits(arguments["country_code"], arguments["phone_number"])
            code = arguments["verification_code"]
            self.require(number in self._issued.get(code, ()), "a number is verified by chance")
        if name != "api_key":
            self._without_secrets(f"the repr of the reply to {name}", repr(reply))

    def _verified(self, arguments: dict[str, Any], now: float) -> None:
        token, user_id = arguments["token"], str(arguments["user_id"])
        digits = re.sub(r"[ -]", "", token)
        with self._lock:
            uris = list(self._uris.get(user_id, ()))
            receivers = self._issued.get(token, self._issued.get(digits))
            number = self._numbers.get(user_id)
            again = (digits, user_id) in self._accepted
            self._accepted.add((digits, user_id))
        self.require(not again, "verify returns for a code that was used")
        if any(digits in _codes(uri, now) for uri in uris):
            return
        self.require(receivers is not None, "verify returns for a code that was not issued")
        if receivers and number:
            self.require(number in receivers, "verify returns for the code of another user")

    # What calls raise.

    def raised(self, name: str, arguments: dict[str, Any], error: BaseException) -> None:
        if isinstance(error, TypeError) and _is_of_python(error):
            return
        self.require(isinstance(error, ALLOWED), f"{name} raises {type(error).__name__}: {error}")
        self.require(
            not isinstance(error, seconder.InternalError), f"{name} has an internal error: {error}"
        )
        text = f"{error} {error!r} {error.args} {vars(error)}"
        given = [value for name, value in arguments.items() if name in SECRET]
        self._without_secrets(f"the error of {name}", text, *filter(_is_text, given))

    def emit(self, record: logging.LogRecord) -> None:
        self._without_secrets("the log", record.getMessage())

    def _without_secrets(self, place: str, text: str, *more: str) -> None:
        with self._lock:
            secrets = [*self._secrets, *more]
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET and secret in text:
                # As a word of its own: digits are part of longer numbers by chance.
                found = re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text)
                self.require(found is None, f"{place} shows a secret: {text}")

    def require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.violations.append(otherwise)
            raise Violation(otherwise)


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_of_python(error: TypeError) -> bool:
    """Whether the arguments do not fit the signature, which Python itself rejects."""
    return "argument" in str(error) and error.__traceback__ is not None


def _digits(*parts: str | int) -> str:
    """The digits of texts, also of those whose own method for that fails, and of numbers."""
    texts = (part if isinstance(part, str) else str(part) for part in parts)
    return "".join(filter(str.isdigit, (letter for text in texts for letter in text)))


def _codes(uri: str, now: float) -> set[str]:
    """The codes that an app shows while the call may be checked."""
    until = max(now, time.time() if abs(now - time.time()) < 600 else now)
    period = totp.Totp.from_uri(uri).period
    steps = range(int(now // period) - 2, int(until // period) + 3)
    return {totp.code(uri, at=step * period) for step in steps}
