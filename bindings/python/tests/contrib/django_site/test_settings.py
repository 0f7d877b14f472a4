"""The setting SECONDER, and the service that it describes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from pytest_django import Settings

import seconder
from seconder.contrib import _configured
from seconder.contrib.django import _settings, service
from seconder.contrib.django._service import close

sent: list[seconder.Message] = []


calls: list[seconder.results.CallRecord] = []


def deliver(message: seconder.Message) -> None:
    sent.append(message)


def note(call: seconder.results.CallRecord) -> None:
    calls.append(call)


def test_the_service_is_opened_once_and_again_for_other_settings(
    settings: Settings, tmp_path: Path
) -> None:
    settings.SECONDER = {"URL": "sandbox:", "APPLICATION_NAME": "One"}
    one = service()
    assert service() is one and one.app_details().name == "One"
    with override_settings(SECONDER={"URL": "sandbox:", "APPLICATION_NAME": "Two"}):
        assert service().app_details().name == "Two"
        with pytest.raises(seconder.InvalidArgument):
            one.app_details()
    assert service().app_details().name == "One"
    settings.LANGUAGE_CODE = "en"
    assert repr(service()) == "<seconder.Service on sandbox:>"
    close()


def test_threads_share_the_service(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SECONDER = {"URL": "sandbox:"}
    opened, real, both = [], seconder.open, threading.Barrier(8)

    def count(*args: Any, **options: Any) -> seconder.Service:
        opened.append(1)
        return real(*args, **options)

    monkeypatch.setattr("seconder.open", count)
    found = []

    def ask() -> None:
        both.wait()
        found.append(service())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1 and len(set(map(id, found))) == 1
    close()


def test_the_options_reach_the_service(settings: Settings, tmp_path: Path) -> None:
    settings.SECONDER = {
        "URL": f"sqlite:{tmp_path}/site.db",
        "DELIVER": f"{__name__}.deliver",
        "ON_CALL": f"{__name__}.note",
        "DELIVER_TIMEOUT": 5.0,
        "APPLICATION_NAME": "Site",
        "API_KEY": None,
        "TOKEN_LENGTH": 8,
    }
    service().start_phone_verification("sms", "555-010-0123", 1)
    assert "Site" in sent[-1].text and calls[-1].call == "start_phone_verification"
    close()


@pytest.mark.parametrize("option", sorted(set(_configured.option_names().values()) - {"url"}))
def test_every_option_of_open_is_a_key(option: str) -> None:
    with override_settings(SECONDER={"URL": "sandbox:", option.upper(): None}):
        assert _settings.arguments() == ("sandbox:", {})


WRONG: list[tuple[Any, str]] = [
    (None, "SECONDER is missing"),
    ([], "not a dict"),
    ({}, 'no "URL"'),
    ({"URL": ""}, 'no "URL"'),
    ({"URL": "sandbox:", "DELIVERY": deliver}, "'DELIVERY'.* nearest name is 'DELIVER'"),
    ({"URL": "sandbox:", "api_key": "k"}, "'api_key'.* nearest name is 'API_KEY'"),
    ({"URL": "sandbox:", "API_KEY": ""}, "API_KEY.* empty"),
    ({"URL": "sandbox:", "DELIVER": "no.such.module"}, "DELIVER: No module named"),
    ({"URL": "sandbox:", "DELIVER": "os.path"}, "DELIVER must be a function"),
    ({"URL": "sandbox:", "POST": 7}, "POST must be a function"),
    ({"URL": "sandbox:", "NAMES": {"wort": "acme"}}, "NAMES"),
    ({"URL": "sandbox:", "NAMES": "a b"}, "NAMES"),
    ({"URL": "sandbox:", "NAMES": MappingProxyType({"word": "a b"})}, "NAMES"),
    ({"URL": "sandbox:", "ON_CALL": "os.nothing"}, "ON_CALL: module 'os' has no"),
    ({"URL": "sandbox:", "DECISIONS": 1}, "DECISIONS.* neither True nor False"),
    ({"URL": "sandbox:", "TOKEN_LENGTH": 99}, "TOKEN_LENGTH"),
    ({"URL": "sandbox:", "TIMEOUT": 5}, "TIMEOUT"),
    ({"URL": "ftp:"}, "URL"),
    ({"URL": "https://2fa.example.com"}, "API_KEY"),
]


@pytest.mark.parametrize("setting, message", WRONG)
def test_wrong_settings_are_rejected(setting: Any, message: str, settings: Settings) -> None:
    settings.SECONDER = setting
    with pytest.raises(ImproperlyConfigured, match=message):
        service()


@pytest.mark.parametrize("names", ["acme", {"word": "acme"}, MappingProxyType({"word": "acme"})])
def test_names_are_a_word_or_a_mapping(names: Any, settings: Settings) -> None:
    settings.SECONDER = {"URL": "https://2fa.example.com", "API_KEY": "k" * 32, "NAMES": names}
    assert _settings.arguments()[1]["names"] == seconder.Names("acme")
    assert _settings.problems() == []
    service()
    close()


PREFORK = """
import os, sys
from django.conf import settings
settings.configure(SECONDER={"URL": "https://127.0.0.1:9", "API_KEY": "a-key-of-the-application"})
from seconder.contrib.django import service
inherited = service()
if os.fork() == 0:
    assert service() is not inherited and service() is service()
    # Python closes the service as it exits.
    sys.exit()
_, status = os.wait()
print(status, service() is inherited)
"""


def test_after_a_fork_the_process_opens_its_own() -> None:
    environment = {name: value for name, value in os.environ.items() if "DJANGO" not in name}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PREFORK],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.stdout.split() == ["0", "True"], done.stderr
