"""For a second run of django-allauth's own tests: its users are enrolled, and its apps' codes are
checked by the service. It is copied next to those tests as ``conftest.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from allauth.mfa.models import Authenticator

from seconder.contrib.django.allauth.adapter import MARK
from seconder.contrib.django.models import Enrolment
from seconder.testing import Sandbox


@pytest.fixture(autouse=True)
def sandbox(seconder_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Sandbox:
    monkeypatch.setattr("seconder.open", seconder_sandbox.open)
    settings.SECONDER = {"URL": "sandbox:", "APPLICATION_NAME": "opened again"}
    return seconder_sandbox


def enrol(sandbox: Sandbox, user: Any) -> Any:
    created = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
    Enrolment.objects.create(account=user, user_id=created.user_id)
    return user


@pytest.fixture
def auth_client(client: Any, user: Any, sandbox: Sandbox) -> Any:
    """A user with a phone."""
    if not Enrolment.objects.exists():
        enrol(sandbox, user)
    client.force_login(user)
    return client


@pytest.fixture
def user_with_totp(user: Any, sandbox: Sandbox) -> Any:
    """A user with a phone and an app."""
    if not Enrolment.objects.exists():
        enrol(sandbox, user)
    Authenticator.objects.create(user=user, type="totp", data={"secret": MARK})
    return user


@pytest.fixture
def totp_validation_bypass() -> Callable[[], AbstractContextManager[None]]:
    """The service accepts every code."""

    @contextmanager
    def bypass() -> Iterator[None]:
        with (
            patch("seconder.contrib.django.accounts.verify"),
            patch("seconder.contrib.django.accounts.confirm_authenticator"),
        ):
            yield

    return bypass
