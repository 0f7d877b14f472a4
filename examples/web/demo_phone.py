"""Demo: the users' phones. Leave it out of a real application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from common import DATA, Problem
from users import Accounts

import seconder


@dataclass
class Question:
    """An approval request, as the demo phone shows it."""

    uuid: str
    message: str
    lines: list[str]
    number_digits: int


class DemoPhone:
    """Simulates the users' phones."""

    def __init__(self, service: Callable[[], seconder.Service], accounts: Accounts) -> None:
        self._service = service
        self._accounts = accounts

    def page(self) -> dict[str, Any]:
        """Returns the page's contents: the pending requests, and the latest messages."""
        questions = [
            Question(
                each.uuid,
                each.message,
                [f"{k}: {v}" for k, v in each.details.items()],
                each.number_digits,
            )
            for device in self._devices()
            for each in self._service().open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
        ]
        files = sorted((DATA / "seconder.spool").glob("*.txt"), reverse=True)[:3]
        messages = [_message(file.read_text()) for file in files]
        nothing = not questions and not messages
        return {"questions": questions, "messages": messages, "nothing": nothing}

    def answer(self, uuid: str, yes: bool, number: str = "") -> Problem | None:
        """Responds to a request on the phone that received it, with the number that the user typed.
        Returns what was wrong with it."""
        for device in self._devices():
            pending = self._service().open_approvals(
                device_id=device.device_id, device_secret=device.secret
            )
            if uuid in [request.uuid for request in pending]:
                try:
                    self._service().respond_to_approval(
                        uuid,
                        device_id=device.device_id,
                        device_secret=device.secret,
                        response="approve" if yes else "deny",
                        number=(number.strip() or None) if yes else None,
                    )
                except seconder.InvalidArgument:
                    return Problem("Type the number that the login page shows.")
                except seconder.Rejected as error:
                    return Problem(error.fields["message"])
        return None

    def _devices(self) -> list[seconder.results.DeviceRegistered]:
        return [account.device for account in self._accounts.with_device() if account.device]


def _message(file: str) -> dict[str, str]:
    head, _, text = file.partition("\n\n")
    return {"to": head.partition("\n")[0], "text": text.strip()}
