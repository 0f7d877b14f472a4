"""What the three applications share: the settings, the headers, and the messages for errors. Their
users are in users.py, and the demo phone is in demo_phone.py. The handling of the second factor is in
each application's own file.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import seconder
from seconder.contrib.replay import SqlReplay

log = logging.getLogger("example")
FOLDER = Path(__file__).parent
"""The folder of the templates and the stylesheet."""
PUBLIC_URL = os.environ.get("EXAMPLE_URL", "http://127.0.0.1:5000")
"""The application's URL for browsers and the service."""
PORT = urlsplit(PUBLIC_URL).port or 5000
CALLBACK_URL = f"{PUBLIC_URL}/seconder/callback"
SECRET = os.environ.get("EXAMPLE_SECRET") or secrets.token_hex(32)
"""The key that signs the sessions. All processes of one application need the same one."""
PENDING_LIFE = 600
"""The time limit for the second step after the password, for a sign-up, and for setting up an
authenticator app, in seconds."""
SESSION_LIFE = 12 * 3600
"""How long a user stays logged in, in seconds."""
NUMBER_DIGITS = 2
"""How many digits the number has that is shown here and typed on the phone to approve a login."""
COUNTRY = 1
"""The calling code of the users' numbers."""
DATA = Path.cwd()
"""The folder of the databases."""
SERVICE_URL = f"sqlite:{DATA}/seconder.db"
"""The embedded service. It writes messages as text files to ``seconder.spool``."""
SECURE = PUBLIC_URL.startswith("https:")
"""Whether cookies are restricted to HTTPS."""
BROWSER = "__Host-browser" if SECURE else "browser"
"""The name of the cookie of a remembered browser. Browsers accept the prefix over HTTPS alone."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every page. The secret of an authenticator app must not stay in a cache."""


def open_memory() -> SqlReplay:
    """Opens the memory that all processes share, of callbacks and of approvals that were used."""
    return SqlReplay.sqlite(DATA / "seen.db")


def digits(typed: str) -> str:
    """Removes the spaces and dashes that people type between the digits."""
    return "".join(typed.split()).replace("-", "")


@dataclass
class Sent:
    """A code that was sent, as the pages show it."""

    number: str | None
    """The number that it was sent to."""
    again: float | None
    """When it can be sent again, in Unix seconds, if the service says so."""

    @staticmethod
    def keep(session: Any, code: seconder.results.CodeRequested) -> None:
        """Keeps in the session what the pages show."""
        session["sent"] = [code.cellphone, resend_at(code.resend_after)]

    @staticmethod
    def kept(session: Any) -> Sent | None:
        """Returns what the session has of a code, if one was sent."""
        sent = session.get("sent")
        return sent and Sent(*sent)

    @property
    def wait(self) -> int:
        """After how many seconds it can be sent again, as far as is known."""
        return 0 if self.again is None else max(0, math.ceil(self.again - time.time()))


def resend_at(resend_after: int | None) -> float | None:
    """Returns when a code can be sent again, in Unix seconds."""
    return None if resend_after is None else time.time() + resend_after


@dataclass
class Problem:
    """What went wrong, for a page and its response."""

    text: str
    status: int = 422
    """The HTTP status of the response."""
    wait: int | None = None
    """After how many seconds the user can try again, if it is a limit and the service says so."""
    sending: bool = False
    """Whether that limit is for sending codes, so that the code sent before can still be typed."""
    field: str = ""
    """The name of the invalid field, if it is known."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response."""
        return {} if self.wait is None else {"Retry-After": str(self.wait)}

    @property
    def again(self) -> str:
        """When to try again, for browsers without JavaScript, in which no counter runs."""
        if self.wait is None:
            return "Please try again later."
        if self.wait < 120:
            return f"Try again in {self.wait} s."
        return f"Try again in {math.ceil(self.wait / 60)} minutes."


def why_limited(error: seconder.RateLimited, sending: bool) -> str:
    """Returns why a limit makes the user wait. Strangers may have used it up, so only the wait after a
    code says that one was sent. Other services do not say which limit it is."""
    if error.is_operator_limit or error.code == seconder.enums.Code.TOO_MANY_WRONG_KEYS:
        log.error("an operator has to act: %s (limit %s, code %s)", error, error.limit, error.code)
    if sending:
        if error.limit == "cool_down":
            return "A code was sent already."
        return "We cannot send a code at the moment."
    if error.limit in ("wrong_codes", "address_wrong_hour") or of_other_service(error):
        return "Too many attempts."
    return "That is not possible at the moment." if error.limit else CANNOT_CHECK


def of_other_service(error: seconder.RateLimited) -> bool:
    """Returns whether a service that does not name its limits reached one. Without the code it is only busy,
    or it does not accept the application's own key."""
    return error.limit is None and error.code == seconder.enums.Code.TOO_MANY_REQUESTS


def explain(error: seconder.SecondFactorError | Refused, *, sending: bool = False) -> Problem:
    """Returns what to show to the user after a call, which may have been to send a code. An error
    that the user cannot act on is raised again."""
    match error:
        case Refused():
            return error.problem
        case seconder.TokenMalformed():
            return Problem("Please type the digits of the code: it has 6 to 12.")
        case seconder.TokenInvalid(reused=True):
            return Problem("That code has been used already. Wait for the next one.", 401)
        case seconder.TokenInvalid():
            return Problem("That code is wrong.", 401)
        case seconder.RateLimited():
            text = why_limited(error, sending)
            wait = None if error.retry_after is None else math.ceil(error.retry_after)
            decided = error.limit is not None or of_other_service(error)
            return Problem(text, 429 if decided else 503, wait, sending)
        case seconder.Unavailable():
            return Problem("That is not possible at the moment. Please try again soon.", 503)
    raise error


CANNOT_CHECK = "That cannot be checked at the moment."
WRONG_PASSWORD = Problem("The name or the password is wrong.", 401)
NOT_APPROVED = Problem("You did not approve the login.", 401)
NAME_TAKEN = Problem("That name is taken. Choose another one.", 409, field="name")
LAST_WAY = Problem("That is your only way to log in. Set up another one first.", 409)


class Refused(Exception):
    """What a visitor asked for is not possible."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem
