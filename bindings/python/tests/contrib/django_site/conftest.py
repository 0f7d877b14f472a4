"""A sandbox as the site's service, and accounts with and without a second factor."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from seconder.contrib.django import accounts, verified
from seconder.contrib.django._service import close
from seconder.testing import Sandbox

_numbers = itertools.count(1000)


@pytest.fixture
def sandbox(
    seconder_sandbox: Sandbox, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sandbox]:
    """A sandbox, which the site opens."""
    monkeypatch.setattr("seconder.open", seconder_sandbox.open)
    settings.SECONDER = {"URL": "sandbox:"}
    yield seconder_sandbox
    close()


@dataclass
class Person:
    """A user of the site, with a phone."""

    sandbox: Sandbox
    user: User
    client: Client
    user_id: int = 0

    def enrol(self) -> None:
        number = f"555-010-{next(_numbers)}"
        accounts.start_enrolment(number, 1)
        found = accounts.enrol(self.user, number, 1, self.sandbox.code(number))
        self.user_id = found.user_id

    def code(self) -> str:
        """The code of a new SMS."""
        self.sandbox.advance(31)
        accounts.send_code(self.user)
        return self.sandbox.code(self.user_id)

    def log_in(self) -> None:
        """The first factor."""
        self.client.force_login(self.user, "django.contrib.auth.backends.ModelBackend")

    def log_in_fully(self) -> None:
        """Both factors."""
        self.log_in()
        session = self.client.session
        entry = {"account": str(self.user.pk), "user_id": self.user_id, "at": int(time.time())}
        session[verified.KEY] = entry
        session.save()


def make(sandbox: Sandbox, name: str, **fields: Any) -> Person:
    user = User.objects.create_user(name, f"{name}@example.com", "password", **fields)
    return Person(sandbox, user, Client(enforce_csrf_checks=False))


@pytest.fixture
def ada(sandbox: Sandbox, db: None) -> Person:
    """An account with a second factor."""
    person = make(sandbox, "ada", is_staff=True, is_superuser=True)
    person.enrol()
    return person


@pytest.fixture
def bob(sandbox: Sandbox, db: None) -> Person:
    """An account without one."""
    return make(sandbox, "bob")
