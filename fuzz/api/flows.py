"""Sequences of calls that succeed, unless other threads or faults interfere."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from seconder import totp

from checks import Checks
from values import NUMBERS
from worlds import World

Make = Callable[..., Any]
"""Makes a call by its name, and returns its reply, or None if it raises."""


class Flows:
    """The flows of one thread."""

    def __init__(self, generator: random.Random, world: World, checks: Checks, make: Make) -> None:
        self._random, self._world, self._checks = generator, world, checks
        self._make = make

    def run(self) -> None:
        """Runs one of them."""
        kinds = (self.by_message, self.by_app, self.by_recovery_code, self.number, self.approval)
        self._random.choice(kinds)()

    def _enrol(self) -> int | None:
        email = f"u{self._random.randrange(9)}@example.com"
        user = self._make("create_user", email, self._random.choice(NUMBERS), 1)
        return None if user is None else int(user.user_id)

    def _wait(self) -> None:
        if self._world.sandbox is not None:
            self._world.sandbox.advance(31)

    def _latest(self, name: str) -> str | None:
        """The latest code that was sent. There may be none: if another thread lets time pass during a
        call, its message waits for ``run_jobs``."""
        codes: list[str] = self._checks.known.get(name, [])
        return codes[-1] if codes else None

    def _try(self, code: str, user: int, **options: Any) -> None:
        """Verifies a code twice, of which one time at most may succeed."""
        for _ in range(2):
            self._make("verify", user, code, force=True, **options)

    def by_message(self) -> None:
        self._wait()
        user, action = self._enrol(), self._random.choice([None, "pay"])
        call = self._random.choice(["request_sms", "request_call"])
        if user is not None and self._make(call, user, action=action, force=True) is not None:
            code = self._latest("token")
            if code is not None:
                self._try(code, user, action=action)

    def by_app(self) -> None:
        user = self._enrol()
        enrolled = None if user is None else self._make("enrol_authenticator", user)
        if user is not None and enrolled is not None:
            self._try(totp.code(enrolled.uri, at=self._world.now()), user)
            if self._random.random() < 0.1:
                code = totp.code(enrolled.uri, at=self._world.now())
                self._make("prepare_offline", user, code, days=1)

    def by_recovery_code(self) -> None:
        user = self._enrol()
        codes = None if user is None else self._make("create_recovery_codes", user)
        if user is not None and codes is not None:
            self._try(codes.codes[0], user)

    def number(self) -> None:
        self._wait()
        number = self._random.choice(NUMBERS)
        started = self._make("start_phone_verification", "sms", number, 1)
        code = None if started is None else self._latest("verification_code")
        if code is not None:
            self._make("phone_verification_status", phone_number=number, country_code=1)
            self._make("check_phone_verification", number, 1, code)
            self._make("check_phone_verification", number, 1, code)

    def approval(self) -> None:
        user = self._enrol()
        if user is None:
            return
        device = self._make("register_device", user, "ios")
        digits = self._random.choice([None, 0, 2, 6])
        asked = self._make("create_approval", user, "Log in?", number_digits=digits)
        if device is None or asked is None:
            return
        proof = {"device_id": device.device_id, "device_secret": device.secret}
        self._make("open_approvals", **proof)
        response = self._random.choice(["approve", "deny"])
        typed = self._random.choice([asked.number, None])
        self._make("respond_to_approval", asked.uuid, response=response, number=typed, **proof)
        approval = self._make("wait_for_approval", asked.uuid, user, timeout=0.01)
        if approval is not None:
            approved = approval.approved_by(user)
            self._checks.require(
                not approved or response == "approve", "a denial counts as an approval"
            )
            self._checks.require(
                not approved or typed == asked.number, "a request is approved without its number"
            )
            others = not approval.approved_by(user + 1) and not approval.approved_by(0)
            self._checks.require(others, "an approval counts for another user")
