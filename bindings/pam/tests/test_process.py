"""State that a process keeps while it logs users in, and disturbances of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from machine import Machine
from service import Service

HERE = Path(__file__).parent
MODULE = os.environ["SECONDER_MODULE"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "logins"
    build(path)
    return path


def build(path: Path, *options: str, source: str = "logins.c") -> None:
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *options]
    subprocess.run(["cc", *flags, HERE / source, "-o", path, "-lpam"], check=True)


@pytest.fixture
def stacks(machine: Machine, sandbox: Service, tmp_path: Path) -> Path:
    """A folder of stacks with the module alone, which asks a service that accepts every code."""
    machine.configure(**sandbox.keys, method="code")
    machine.map_users({"ada": sandbox.add_phone()})
    (tmp_path / "many").write_text(f"auth required {MODULE} conf={machine.etc}/pam.conf\n")
    return tmp_path


def run(program: Path, stacks: Path, logins: int, *more: str) -> list[dict[str, Any]]:
    command: list[str | Path] = [program, stacks, "many", "ada", "1234567", str(logins), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_many_logins_leave_nothing(program: Path, stacks: Path) -> None:
    before, after, _ = run(program, stacks, 1000)
    assert after["memory"] - before["memory"] < 200, (before, after)
    for what in ("descriptors", "threads", "handled", "blocked", "children"):
        assert after[what] == before[what], what
    assert after["threads"] == 1 and after["handled"] == 0
    assert not after["blocked"] and not after["children"]


def test_storms_of_signals(program: Path, stacks: Path) -> None:
    """Neither SIGALRM nor SIGCHLD makes a login fail."""
    (storm,) = run(program, stacks, 100, "storm")
    assert storm["alarms"] > 100 and storm["ended"] >= 100, storm


def test_the_exports_are_those_that_pam_calls() -> None:
    printed = subprocess.run(
        ["nm", "-D", "--defined-only", MODULE], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[-1] for line in printed.splitlines()]
    assert names == (HERE / "exports.txt").read_text().split()


def test_the_module_needs_few_libraries_and_stays_loaded() -> None:
    printed = subprocess.run(
        ["readelf", "-dlW", MODULE], check=True, capture_output=True, text=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in printed.splitlines() if "NEEDED" in line}
    loader = {name for name in needed if name.startswith("ld-linux")}
    assert needed - loader == {"libpam.so.0", "libc.so.6", "libgcc_s.so.1"}
    (flags,) = [line for line in printed.splitlines() if "FLAGS_1" in line]
    assert "NOW" in flags and "NODELETE" in flags
    assert "GNU_RELRO" in printed
    assert "RPATH" not in printed and "RUNPATH" not in printed
    (stack,) = [line for line in printed.splitlines() if "GNU_STACK" in line]
    assert " RW " in stack


def test_nothing_is_inherited_by_other_programs(program: Path, stacks: Path) -> None:
    """Every descriptor that the module opens is closed on exec from its first moment."""
    trace = stacks / "trace"
    calls = "trace=open,openat,socket,dup,fcntl,pipe,pipe2"
    command: list[str | Path] = ["strace", "-f", "-o", trace, "-e", calls]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("strace cannot run here")
    words: list[str | Path] = [program, stacks, "many", "ada", "1234567", "1"]
    subprocess.run([*command, *words], check=True, capture_output=True, timeout=60)
    opened = [line for line in trace.read_text().splitlines() if "= -1" not in line]
    ours = [line for line in opened if "pam.conf" in line or "socket(AF_INET" in line]
    ours += [line for line in opened if "socket(AF_UNIX, SOCK_STREAM" in line]
    assert ours
    for line in ours:
        assert "CLOEXEC" in line, line


WIPED = {
    "a code": ("method=code", "739182640517", ["739182640517"]),
    "with spaces": ("method=code", "739182 640517", ["739182 640517", "739182640517"]),
    "no code": ("method=code", "a password typed here", ["a password typed here"]),
    "one field": (
        "first_pass=with_code code_length=12",
        "battery staple739182640517",
        ["battery staple", "739182640517"],
    ),
}


@pytest.mark.parametrize("what", WIPED)
@pytest.mark.parametrize("over", ["socket", "https"])
def test_what_was_typed_is_wiped_and_no_thread_starts(
    machine: Machine, sandbox: Service, stacks: Path, what: str, over: str
) -> None:
    arguments, typed, texts = WIPED[what]
    machine.configure(**(sandbox.keys if over == "socket" else sandbox.network_keys))
    line = f"auth required {MODULE} conf={machine.etc}/pam.conf {arguments}\n"
    (stacks / "wiped").write_text(line)
    path = stacks / "wiped-program"
    build(path, "-rdynamic", source="wiped.c")
    shifted = ["".join(chr(ord(letter) + 1) for letter in text) for text in [typed, *texts]]
    for how in ("wipe", "keep"):
        command: list[str | Path] = [path, stacks, "wiped", "ada", shifted[0], how, *shifted[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        status, *found = done.stdout.splitlines()
        assert (status == "0") == (what != "no code"), done.stdout
        assert found == [] if how == "wipe" else found, (how, found)
