"""The programs in docs/django.md run as they are printed, and its tables are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.management import get_commands
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import resolve
from rest_framework.test import APIRequestFactory

import seconder.contrib.django
from contrib.django_site.conftest import Person
from seconder.contrib.django import _settings, accounts
from seconder.contrib.django.otp.models import SeconderDevice
from seconder.testing import Sandbox

DOCUMENT = (Path(__file__).parents[5] / "docs" / "django.md").read_text()
PACKAGE = Path(seconder.contrib.django.__file__).parent


@pytest.fixture
def printed(db: None) -> dict[str, Any]:
    """Everything that the programs define."""
    names: dict[str, Any] = {"INSTALLED_APPS": [], "MIDDLEWARE": [], "__name__": "printed"}
    for block in re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL):
        exec(block, names)
    return names


def test_the_settings_are_valid(printed: dict[str, Any]) -> None:
    assert "seconder.contrib.django.otp" in printed["INSTALLED_APPS"]
    with override_settings(SECONDER={**printed["SECONDER"], "DELIVER": print}):
        assert _settings.problems() == []


def test_an_account_is_enrolled_and_asked(
    printed: dict[str, Any], bob: Person, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(path: str, **fields: str) -> Any:
        request = RequestFactory().post(path, {"cellphone": "555-010-0123", **fields})
        request.user = bob.user
        return request

    printed["number"](send("/"))
    printed["code"](send("/", code=sandbox.code("0123")))
    found = accounts.enrolment(bob.user)
    assert found is not None
    printed["add"](bob.user)
    assert SeconderDevice.objects.get().user == bob.user
    bob.log_in()
    pages = ModuleType("pages")
    pages.__dict__["urlpatterns"] = printed["urlpatterns"]
    monkeypatch.setitem(sys.modules, "pages", pages)
    with override_settings(ROOT_URLCONF="pages"):
        for page in ("orders", "transfer", "app"):
            asked = bob.client.get(f"/{page}/")
            assert asked["Location"] == f"/second-factor/?next=/{page}/"
        assert resolve("/orders/").func is printed["orders"]


def test_the_views_of_rest_framework_are_guarded(printed: dict[str, Any], ada: Person) -> None:
    factory = APIRequestFactory()
    session = ada.client.session

    def call(view: str, **fields: str) -> HttpResponse:
        request = factory.post("/", fields) if fields else factory.get("/")
        request.session, request.user = session, ada.user
        response: HttpResponse = printed[view].as_view()(request)
        return response

    ada.log_in()
    session = ada.client.session
    assert call("Orders").status_code == 403
    assert call("Verify", code=ada.code()).status_code == 204
    assert call("Orders").status_code == 200


def test_the_fixture_is_one(printed: dict[str, Any]) -> None:
    assert "FixtureFunctionDefinition" in type(printed["second_factor"]).__name__


def test_every_check_is_in_the_table() -> None:
    sources = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    ids = set(re.findall(r"seconder\.[EW]\d{3}", sources))
    assert ids == set(re.findall(r"^\| `(seconder\.[EW]\d{3})`", DOCUMENT, re.MULTILINE))
    assert len({each[-3:] for each in ids}) == len(ids)


def test_every_command_is_in_the_table() -> None:
    commands = {name for name in get_commands() if name.startswith("seconder_")}
    assert commands == set(re.findall(r"^\| `(seconder_\w+)", DOCUMENT, re.MULTILINE))
