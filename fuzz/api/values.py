"""Valid and hostile arguments, by the names of the parameters."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

NUMBERS = ("555-010-0123", "555-010-0199", "555 010 0177", "5550100155")
ACTIONS = ("pay", "log in", "ä", "a" * 128)
SECRET = frozenset({"token", "code", "verification_code", "device_secret"})
"""The parameters whose values are secrets: no error may repeat them, so they are never given as
anything else."""


class OwnError(Exception):
    """What a hostile argument raises. It may leave the call that reads the argument."""


class Raising(Mapping[str, Any]):
    """A dict that fails when it is read."""

    def __getitem__(self, key: str) -> Any:
        raise OwnError

    def __iter__(self) -> Iterator[str]:
        raise OwnError

    def __len__(self) -> int:
        return 1


class Text(str):
    """Text with a method of its own."""

    def __str__(self) -> str:
        raise OwnError


def _endless() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def _deep() -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    return deep


HOSTILE: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (None, True, False, 0, -1, 1 << 63, (1 << 64) - 1)),
    *(lambda value=value: value for value in (1 << 64, 10**400, 0.5, -0.0, float("inf"))),
    *(lambda value=value: value for value in ("", " ", "\0", "a\nb", "\ud800", "\u202e", "%00")),
    *(lambda value=value: value for value in ("../../x", "'; DROP TABLE users; --", "{}", "١٢٣٤٥")),
    *(lambda value=value: value for value in (b"bytes", (), frozenset(), object(), 1j, ...)),
    lambda: float("nan"),
    lambda: "a" * 10_000,
    lambda: {"a": [None, {"b": (1, 2.5, "ä")}]},
    lambda: {1: 2},
    lambda: {"a[b]": {"": "x"}},
    lambda: {"svc_id": 1, "user_id": 2, "api_key": "x", "success": True},
    lambda: ["a", 1, None],
    lambda: [{"res": "default", "url": "https://a.example/b.png"}],
    lambda: Decimal("1.5"),
    lambda: datetime(2030, 1, 1),
    lambda: timedelta(1),
    lambda: bytearray(b"x"),
    lambda: (each for each in "abc"),
    lambda: Text("1234567"),
    Raising,
    _endless,
    _deep,
    lambda: int,
    lambda: print,
)


class Values:
    """Arguments for one thread, from its own generator."""

    def __init__(self, generator: random.Random, known: Mapping[str, list[Any]]) -> None:
        self._random = generator
        self._known = known
        """What earlier calls returned, by the parameter that takes it."""

    def value(self, name: str) -> Any:
        """An argument for the parameter of that name."""
        if self._random.random() < 0.08:
            return self._random.choice(HOSTILE)()
        known = self._known.get(name)
        if known and self._random.random() < 0.8:
            # The latest ones more often, which are more likely still valid.
            return known[-1 - min(int(self._random.expovariate(0.5)), len(known) - 1)]
        plausible = getattr(self, f"_{name}", None)
        return self._random.choice(HOSTILE)() if plausible is None else plausible()

    def one(self, *values: Any) -> Any:
        return self._random.choice(values)

    def digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _user_id(self) -> Any:
        return self._random.randint(1, 6)

    def _token(self) -> Any:
        return self.one(self.digits(self.one(6, 7, 8, 9)), "0000000", " 1234567", "１２３４５６７")

    _code = _token

    def _verification_code(self) -> Any:
        return self.one(self.digits(self.one(4, 6, 10)), "0000")

    def _device_secret(self) -> Any:
        return self.digits(30)

    def _email(self) -> Any:
        return self.one("ada@example.com", "bob@example.com", "@", "a@b\r\nc")

    def _cellphone(self) -> Any:
        return self.one(*NUMBERS, "1", "999-999-999-999-999", "555-010-01x3")

    _phone_number = _cellphone

    def _country_code(self) -> Any:
        return self.one(1, 1, "1", 49, "+1", 1000)

    def _via(self) -> Any:
        return self.one("sms", "call", "mail")

    def _type(self) -> Any:
        return self.one("password_reset", "banned", "unbanned", "cookie_login", "x")

    def _user_ip(self) -> Any:
        return self.one(None, "192.0.2.1", "2001:db8::1", "256.0.0.1")

    def _action(self) -> Any:
        return self.one(None, None, *ACTIONS)

    _action_message = _action

    def _message(self) -> Any:
        return self.one("Log in?", "x" * 145, "\u0007")

    def _details(self) -> Any:
        return self.one(None, {"city": "Oslo"}, {"": ""}, {"a": {"b": [1, 2]}})

    _hidden_details = _data = _details

    def _seconds_to_expire(self) -> Any:
        return self.one(None, 0, 1, 3600, 315_360_001)

    def _number_digits(self) -> Any:
        return self.one(None, None, 0, 2, 3, 6, 4, 256)

    def _number(self) -> Any:
        return self.one(None, self.digits(2), self.digits(6))

    def _qr_size(self) -> Any:
        return self.one(None, 100, 1000, 1001)

    def _uuid(self) -> Any:
        return self.one("3f05a350-4b2c-0136", "..", "a" * 65)

    def _timeout(self) -> Any:
        return self.one(0.001, 0.01, 2, 3601)

    def _budget(self) -> Any:
        return self.one(0, 0.001, 5, -1, timedelta(seconds=1))

    def _flag(self) -> Any:
        return self._random.random() < 0.5

    _force = _new_only = _bound = _send_install_link_via_sms = _flag

    def _repeats(self) -> Any:
        return self.one("none", "questions", "all", "some")

    def _device_type(self) -> Any:
        return self.one("android", "ios", "svc_chrome", "phone")

    def _response(self) -> Any:
        return self.one("approve", "deny", "report", "later")

    def _login(self) -> Any:
        return self.one("ada", "bob", "root", "a b", "-x")

    def _since(self) -> Any:
        return self.one(None, 0, 1.5, datetime.fromtimestamp(1, timezone.utc))

    _until = _since

    def _verdict(self) -> Any:
        return self.one(None, "wrong", "sent", "x")

    def _after(self) -> Any:
        return self.one(None, "1.1.1", "x")

    def _most(self) -> Any:
        return self.one(1, 100, 1001)

    def _days(self) -> Any:
        return self.one(None, 1, 7, 30, 400)
