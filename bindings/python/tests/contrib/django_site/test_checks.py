"""The system checks: each finds what it is for, and nothing else."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.core import checks as django_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import override_settings
from pytest_django import Settings

from seconder import callback
from seconder.contrib.django import checks
from seconder.contrib.django.replay import TableReplay


def found(setting: Any = None, *, deploy: bool = False, **others: Any) -> list[str]:
    with override_settings(SECONDER=setting, **others):
        messages = django_checks.run_checks(tags=["seconder"], include_deployment_checks=deploy)
    ids = [str(each.id) for each in messages]
    assert all(each.msg and not each.msg.endswith("..") for each in messages)
    return ids


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o700)
    yield tmp_path


def deliver(message: object) -> None: ...


def real_ip(request: object) -> str | None:
    return None


def test_good_settings_have_no_problem(folder: Path) -> None:
    setting = {"URL": "https://2fa.example.com", "API_KEY": "k" * 32, "USER_IP": real_ip}
    assert found(setting, deploy=True) == []
    local = {"URL": f"sqlite:{folder}/a.db", "DELIVER": deliver, "USER_IP": real_ip}
    assert found(local, deploy=True) == []
    assert not (folder / "a.db").exists()
    assert found({"URL": "sandbox:"}) == []


@pytest.mark.parametrize(
    "setting, ids",
    [
        (None, ["seconder.E001"]),
        ("sandbox:", ["seconder.E001"]),
        ({"API_KEY": "k"}, ["seconder.E001"]),
        ({"URL": "sandbox:", "DELIVR": deliver}, ["seconder.E002"]),
        ({"URL": "sandbox:", "DELIVER": "nowhere.deliver"}, ["seconder.E003"]),
        ({"URL": "sandbox:", "TOKEN_LENGTH": 3}, ["seconder.E003"]),
        ({"URL": "https://2fa.example.com"}, ["seconder.E003"]),
        ({"URL": "https://2fa.example.com", "API_KEY": ""}, ["seconder.E004"]),
    ],
)
def test_the_setting_is_validated(setting: Any, ids: list[str]) -> None:
    assert found(setting) == ids


def test_a_site_that_only_receives_callbacks_needs_no_setting() -> None:
    assert found(None, INSTALLED_APPS=["seconder.contrib.django"]) == []


def test_plain_http_is_an_error() -> None:
    assert "seconder.E005" in found({"URL": "http://2fa.example.com", "API_KEY": "k" * 32})
    loopback = {"URL": "http://127.0.0.1:1", "API_KEY": "k" * 32, "ALLOW_LOOPBACK_HTTP": True}
    assert found(loopback) == []


def test_an_engine_without_deliver_is_a_warning(folder: Path) -> None:
    assert found({"URL": f"sqlite:{folder}/a.db"}) == ["seconder.W006"]
    assert not os.listdir(folder)


def test_a_database_on_a_server_is_checked_without_connecting(folder: Path) -> None:
    setting = {"URL": "postgres://seconder@db.invalid/app", "KEYRING": f"{folder}/ring"}
    assert found(setting) == ["seconder.W006"]
    with override_settings(SECONDER=setting):
        (warning,) = checks.check_url()
    assert "No code can be sent" in warning.msg
    assert found({**setting, "DELIVER": deliver}) == []
    assert found({**setting, "DELIVER": deliver, "TOKEN_LENGTH": 3}) == ["seconder.E003"]
    assert found({"URL": setting["URL"], "DELIVER": deliver}) == ["seconder.E003"]
    assert not os.listdir(folder)


@pytest.mark.parametrize(
    "folder_mode, file_mode, ids",
    [
        (0o700, 0o600, []),
        (0o750, 0o600, []),
        (0o755, 0o600, ["seconder.W008"]),
        (0o775, 0o600, ["seconder.E007"]),
        (0o777, 0o600, ["seconder.E007"]),
        (0o700, 0o640, ["seconder.E007"]),
        (0o700, 0o604, ["seconder.E007"]),
    ],
)
def test_the_database_is_private(
    folder: Path, folder_mode: int, file_mode: int, ids: list[str]
) -> None:
    for name in ("my data.db", "my data.db-wal"):
        (folder / name).touch()
        (folder / name).chmod(0o600)
    (folder / "my data.db-wal").chmod(file_mode)
    folder.chmod(folder_mode)
    assert found({"URL": f"sqlite:{folder}/my data.db", "DELIVER": deliver}) == ids


def test_callbacks_are_received(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {"URL": "sandbox:", "CALLBACK_URL": "https://app.example/no/such/page"}
    assert found(lost) == ["seconder.W009"]
    assert found({"URL": "sandbox:", "CALLBACK_URL": "https://app.example/home/"}) == []
    monkeypatch.setattr(checks, "RECEIVERS", [TableReplay()])
    assert found({"URL": "sandbox:"}) == []
    monkeypatch.setattr(checks, "RECEIVERS", [callback.Memory()])
    assert found({"URL": "sandbox:"}) == ["seconder.W010"]


def test_a_sandbox_is_not_deployed() -> None:
    setting = {"URL": "sandbox:", "USER_IP": real_ip}
    assert found(setting, deploy=True, DEBUG=False) == ["seconder.E011"]


def test_a_site_is_deployed_with_a_function_for_addresses() -> None:
    assert found({"URL": "sandbox:"}, deploy=True, DEBUG=True) == ["seconder.W019"]
    setting = {"URL": "sandbox:", "USER_IP": real_ip}
    assert found(setting, deploy=True, DEBUG=True) == []


def test_the_settings_of_allauth_lead_to_the_adapter(settings: Settings) -> None:
    setting = {"URL": "sandbox:"}
    assert found(setting, MFA_FORMS={}) == ["seconder.E012"] * 3
    assert found(setting, MFA_ADAPTER="allauth.mfa.adapter.DefaultMFAAdapter") == ["seconder.E012"]
    assert found(setting, ACCOUNT_ADAPTER="") == ["seconder.W018"]
    own = "seconder.contrib.django.allauth"
    apps = [each for each in settings.INSTALLED_APPS if each != own]
    assert found(setting, INSTALLED_APPS=[*apps, own]) == ["seconder.W013"]


def test_manage_py_check_runs_them(capsys: pytest.CaptureFixture[str]) -> None:
    with override_settings(SECONDER={"URL": "sandbox:", "DELIVR": deliver}):
        with pytest.raises(SystemCheckError) as caught:
            call_command("check")
    assert "(seconder.E002)" in str(caught.value) and "'DELIVER'" in str(caught.value)


def test_the_migrations_are_complete(db: None) -> None:
    call_command("makemigrations", "seconder", "seconder_otp", check=True, dry_run=True)


def test_a_browser_is_not_trusted_after_a_change_of_the_phone() -> None:
    for setting in ("MFA_TRUST_ENABLED", "ACCOUNT_LOGIN_BY_CODE_TRUST_ENABLED"):
        assert found({"URL": "sandbox:"}, **{setting: True}) == ["seconder.E015"]


@pytest.mark.parametrize(
    "setting, ids",
    [
        ({"URL": "sandbox:", "NAMES": "a b"}, ["seconder.E003"]),
        ({"URL": "sandbox:", "NAMES": MappingProxyType({"wort": "acme"})}, ["seconder.E003"]),
        ({"URL": "HTTP://2fa.example.com", "API_KEY": "k" * 32}, ["seconder.E003", "seconder.E005"]),
        ({"URL": "SANDBOX:"}, ["seconder.E011"]),
    ],
)
def test_no_form_of_a_setting_escapes_the_checks(setting: Any, ids: list[str]) -> None:
    assert set(ids) <= set(found(setting, deploy=True, DEBUG=False))


def test_a_database_is_found_by_any_case_of_its_scheme(folder: Path) -> None:
    folder.chmod(0o777)
    assert "seconder.E007" in found({"URL": f"SQLITE:{folder}/a.db", "DELIVER": deliver})
    assert "seconder.W006" in found({"URL": f"SQLite:{folder}/a.db"})


def test_an_admin_site_that_lets_in_by_itself_is_a_warning() -> None:
    class Own(AdminSite):
        def has_permission(self, request: Any) -> bool:
            return bool(request.user.is_staff)

    own = Own("own")
    assert found({"URL": "sandbox:"}) == ["seconder.W016"]
    with override_settings(SECONDER={"URL": "sandbox:"}):
        (warning,) = checks.check_admin()
    assert "'own'" in warning.msg
    del own
    gc.collect()
    assert found({"URL": "sandbox:"}) == []


def test_an_admin_without_a_page_for_a_code_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seconder.contrib.django._admin_login.code_page", lambda: None)
    assert found({"URL": "sandbox:"}) == ["seconder.W016"]


def test_the_service_learns_the_addresses_of_visitors(settings: Settings) -> None:
    middleware = settings.MIDDLEWARE[1:]
    assert found({"URL": "sandbox:"}, MIDDLEWARE=middleware) == ["seconder.W017"]
    assert found({"URL": "sandbox:", "USER_IP": "nowhere.address"}) == ["seconder.E003"]
    assert found({"URL": "sandbox:", "USER_IP": real_ip}) == []
