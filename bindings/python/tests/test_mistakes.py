"""Likely mistakes raise errors with helpful messages."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import seconder
from conftest import Phone

WRONG: Any = None
"""A value that no annotation allows."""

MISTAKES: list[tuple[str, Callable[[Phone], object]]] = [
    ("url must be text", lambda _: seconder.open(WRONG)),
    ("url must begin with https:", lambda _: seconder.open("seconder.db")),
    ("url must begin with https:", lambda _: seconder.open("2fa.example.com", api_key="key")),
    ("url must name a file", lambda _: seconder.open("sqlite:")),
    ("api_key is missing", lambda _: seconder.open("https://2fa.example.com")),
    ("timeout must be a number of seconds", lambda p: p.service.with_timeout(WRONG)),
    ("repeats must be text", lambda p: p.service.with_repeats(WRONG)),
    (
        "not of UserCreated",
        lambda p: p.service.request_sms(
            p.service.create_user("ada@example.com", "555-010-0123", 1)  # type: ignore[arg-type]
        ),
    ),
    (
        "token must be text",
        lambda p: p.service.verify(p.user_id, 1234567),  # type: ignore[arg-type]
    ),
    ("user_id must be a whole number", lambda p: p.service.verify(-1, "1234567")),
    (
        "via must be sms or call",
        lambda p: p.service.start_phone_verification(
            "mail",  # type: ignore[arg-type]
            "555-010-0123",
            1,
        ),
    ),
    (
        "type must be password_reset, banned, unbanned or cookie_login",
        lambda p: p.service.register_activity(p.user_id, "login"),  # type: ignore[arg-type]
    ),
    (
        "secret must be bytes",
        lambda _: seconder.totp.Totp("text in place of bytes"),  # type: ignore[arg-type]
    ),
    ("uri must be text", lambda _: seconder.totp.code(WRONG)),
    (
        "at must be a time in Unix seconds",
        lambda _: seconder.totp.Totp.generate().code(datetime.now()),  # type: ignore[arg-type]
    ),
]


@pytest.mark.parametrize(("message", "mistake"), MISTAKES, ids=[message for message, _ in MISTAKES])
def test_the_argument_is_named(
    phone: Phone, message: str, mistake: Callable[[Phone], object]
) -> None:
    with pytest.raises(seconder.InvalidArgument, match=message) as caught:
        mistake(phone)
    assert message.startswith("not of") or caught.value.parameter == message.split()[0]


GIVEN: dict[str, Any] = {
    "api_key": "key",
    "url": "https://app.example/callback",
    "method": "POST",
    "body": b"{}",
    "query": "",
    "nonce": "1",
}


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("api_key must be text", {"api_key": b"key"}),
        ("url must be text", {"url": 7}),
        ("url must be text", {"url": [7]}),
        ("method must be ", {"method": ["POST"]}),
        ("body must be bytes", {"body": "{}"}),
        ("body must be bytes", {"body": None}),
        ("query must be text", {"method": "GET", "query": b"a=1"}),
        ("nonce must be text", {"nonce": 1_700_000_000}),
    ],
)
def test_the_argument_of_a_callback_function_is_named(message: str, wrong: dict[str, Any]) -> None:
    received = {**GIVEN, "signature": "signed"}
    calls: list[Callable[[], object]] = [
        lambda: seconder.callback.verify(**{**received, **wrong}),
        lambda: seconder.callback.verify_parameters(**{**received, **wrong}),
        lambda: seconder.callback.sign(**{**GIVEN, **wrong}),
    ]
    for call in calls:
        with pytest.raises(seconder.InvalidArgument, match=message) as caught:
            call()
        assert caught.value.parameter == message.split()[0]


def test_an_invalid_signature_window_or_body_is_named() -> None:
    signed: dict[str, Any] = {**GIVEN, "signature": "signed"}
    calls: list[tuple[str, Callable[[], object]]] = [
        ("signature", lambda: seconder.callback.verify(**{**signed, "signature": 7})),
        ("fresh", lambda: seconder.callback.verify(**{**signed, "fresh": timedelta(1)})),
        ("body", lambda: seconder.callback.query(WRONG)),
    ]
    for parameter, call in calls:
        with pytest.raises(seconder.InvalidArgument) as caught:
            call()
        assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/test.db", "there is no folder .*none: create it"),
        (".", "is a folder: name a file in it"),
        ("text", "text is damaged or not a database"),
    ],
)
def test_a_path_without_a_database_is_explained(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "text").write_text("Not a database, and long enough for the head of one." * 20)
    with pytest.raises(seconder.StorageError, match=message):
        seconder.open(f"sqlite:{tmp_path}/{name}")


def test_a_service_can_be_entered_with_or_without_await() -> None:
    async def enter() -> str:
        async with seconder.open_async("sandbox:") as service:
            name = (await service.app_details()).name
        assert "closed" in repr(service)
        async with await seconder.open_async("sandbox:") as service:
            assert (await service.app_details()).name == name
        with pytest.raises(seconder.InvalidArgument):
            async with seconder.open_async("seconder.db"):
                raise AssertionError
        opening = seconder.open_async("sandbox:")
        assert isinstance(opening, seconder.aio.Opening)
        task = asyncio.create_task(opening)
        await (await task).close()
        return name

    assert asyncio.run(enter()) == "Seconder"


def test_a_forgotten_await_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="'open_async' was never awaited"):
        seconder.open_async("sandbox:")
        gc.collect()


def test_a_zip_file_with_the_package_says_what_to_do(tmp_path: Path) -> None:
    package, application = Path(seconder.__file__).parent, tmp_path / "application.pyz"
    with zipfile.ZipFile(application, "w") as archive:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".so"):
                archive.write(file, file.relative_to(package.parent))
        archive.writestr("__main__.py", "import seconder")
    command = [sys.executable, "-I", str(application)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "ImportError: seconder cannot be imported from a zip file" in done.stderr
    assert "install it with pip" in done.stderr
