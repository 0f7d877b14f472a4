"""Logins while the service is stopped, by codes that it prepared before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from machine import PRIVATE, Machine
from service import Service, User
from test_codes import CODE, pamtester

MACHINE_ID = Path("/etc/machine-id")


@pytest.fixture
def allowing(machine: Machine, tmp_path: Path) -> Iterator[Service]:
    """A service that allows logins without it, and a module that keeps codes for them."""
    if PRIVATE:
        MACHINE_ID.unlink(missing_ok=True)
        MACHINE_ID.write_text("0123456789abcdef" * 2 + "\n")
    elif not MACHINE_ID.exists():
        pytest.skip("this machine has no /etc/machine-id")
    tmp_path.chmod(0o755)
    service = Service(tmp_path, None, "--offline-days=1")
    keys = {"offline": "yes", "offline_days": 1, "offline_cache": tmp_path / "cache"}
    machine.configure(**service.keys, **keys, method="code")
    machine.only_the_module("code", "tries=1")
    machine.logged()
    yield service
    service.stop()


def log_in(machine: Machine, code: str) -> int:
    with pamtester(machine) as login:
        login.expect(CODE)
        login.type(code)
        return login.wait()


def recorded(service: Service, user: User) -> list[str]:
    """Returns the service's records of offline logins of the user."""
    path = service.database.removeprefix("sqlite:")
    with closing(sqlite3.connect(path, timeout=10)) as database:
        rows = database.execute(
            "SELECT kind FROM activities WHERE user_id = ? AND kind LIKE 'offline%'"
            " ORDER BY created_at",
            (user.number,),
        )
        return [str(kind) for (kind,) in rows]


def lines(machine: Machine) -> str:
    return "\n".join(machine.logged())


def test_a_user_logs_in_while_the_service_is_stopped(
    machine: Machine, allowing: Service, tmp_path: Path
) -> None:
    ada: User = allowing.add_user()
    machine.map_users({"ada": ada.number})
    assert log_in(machine, ada.code()) == 0
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    allowing.stop()
    code = ada.code()
    machine.logged()
    assert log_in(machine, code) == 0
    if PRIVATE:
        logged = lines(machine)
        assert "accepted (OFFLINE: " in logged and "4 offline logins left" in logged, logged
    # Once, and no wrong one.
    assert log_in(machine, code) == 1
    assert log_in(machine, ada.wrong()) == 1
    if PRIVATE:
        assert "accepted" not in lines(machine)
    # The service is notified before it checks the next code, and does not accept that code again.
    allowing.start()
    assert log_in(machine, code) == 1
    assert recorded(allowing, ada) == ["offline_prepared", "offline_login"]
    assert log_in(machine, ada.code()) == 0
    if PRIVATE:
        assert "OFFLINE" not in lines(machine)
    # Another machine with the same files accepts nothing.
    if PRIVATE:
        allowing.stop()
        MACHINE_ID.write_text("fedcba9876543210" * 2 + "\n")
        assert log_in(machine, ada.code()) == 1
        assert "ada cannot log in offline: " in lines(machine)
