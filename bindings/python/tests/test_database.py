"""The database file: one that must exist, and one that Python's own SQLite has open too."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import seconder
from conftest import Phone

CHECK = """
import sys
import seconder

_, path, code, user_id = sys.argv
with seconder.open(f"sqlite:{path}", engine=seconder.EngineOptions(must_exist=True)) as service:
    try:
        service.verify(int(user_id), code)
    except seconder.TokenInvalid as error:
        print("reused" if error.reused else "wrong")
    else:
        print("right")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has locks of a descriptor")
def test_a_code_opens_one_door_although_sqlite3_closed_the_file(
    phone: Phone, tmp_path: Path
) -> None:
    path = tmp_path / "test.db"
    phone.service.request_sms(phone.user_id)
    for _ in range(2):
        database = sqlite3.connect(path)
        assert database.execute("SELECT count(*) FROM users").fetchone() == (1,)
        database.close()
    assert (tmp_path / "test.db-wal").exists()
    phone.service.verify(phone.user_id, phone.code())
    arguments = [sys.executable, "-c", CHECK, str(path), phone.code(), str(phone.user_id)]
    found = subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60)
    assert found.stdout == "reused\n"


@pytest.mark.parametrize("name", ["test.db", "test.db-wal"])
def test_a_file_that_is_removed_while_it_is_open_is_an_error(
    phone: Phone, tmp_path: Path, name: str
) -> None:
    phone.service.request_sms(phone.user_id)
    (tmp_path / name).unlink()
    for call in (phone.service.request_call, phone.service.user_status):
        with pytest.raises(seconder.StorageError, match="open the service again"):
            call(phone.user_id)
    with pytest.raises(seconder.StorageError, match="removed or replaced"):
        phone.service.verify(phone.user_id, phone.code())
    assert len(phone.messages) == 1


def test_a_database_that_must_exist_is_not_created(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/test.db"
    with pytest.raises(seconder.StorageError, match="does not exist"):
        seconder.open(url, engine=seconder.EngineOptions(must_exist=True))

    async def wait() -> None:
        await seconder.open_async(url, engine=seconder.EngineOptions(must_exist=True))

    with pytest.raises(seconder.StorageError, match="does not exist"):
        asyncio.run(wait())
    assert not list(tmp_path.iterdir())
    seconder.open(url).close()
    seconder.open(url, engine=seconder.EngineOptions(must_exist=True)).close()
