"""The module under valgrind and AddressSanitizer: part of `make test-safety`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from machine import Machine
from service import Service
from test_process import build, program, stacks

__all__ = ["program", "stacks"]
SANITIZED = os.environ.get("SECONDER_SANITIZED_MODULE", "")
SUPPRESSIONS = Path(__file__).resolve().parents[3] / "packaging" / "valgrind.supp"

pytestmark = pytest.mark.skipif(not SANITIZED, reason="`make test-safety` runs it")


def endings(service: str, folder: Path, module: str, machine: Machine) -> list[tuple[str, str]]:
    """Stacks and codes with which logins end in various ways."""
    (folder / "right").write_text(f"auth required {module} conf={machine.etc}/pam.conf\n")
    (folder / "broken").write_text(f"auth required {module} conf={machine.etc}/pam.conf x=y\n")
    (folder / "field").write_text(
        f"auth required {module} conf={machine.etc}/pam.conf first_pass=with_code code_length=7\n"
    )
    return [("right", "1234567"), ("right", "guess"), ("broken", "1"), ("field", "secret1234567")]


def test_valgrind(machine: Machine, sandbox: Service, program: Path, stacks: Path) -> None:
    for stack, code in endings("right", stacks, os.environ["SECONDER_MODULE"], machine):
        command = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--track-fds=no"]
        command += ["--errors-for-leak-kinds=definite,possible", f"--suppressions={SUPPRESSIONS}"]
        command += [str(program), str(stacks), stack, "ada", code, "3"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode != 99, done.stderr
        assert done.returncode == (0 if "1234567" in code else 1), done.stderr


def test_address_sanitizer(
    machine: Machine, sandbox: Service, stacks: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("sanitized") / "logins"
    build(path, "-fsanitize=address")
    for stack, code in endings("right", stacks, SANITIZED, machine):
        command: list[str | Path] = [path, stacks, stack, "ada", code, "3"]
        environment = {**os.environ, "ASAN_OPTIONS": "exitcode=99:detect_leaks=1"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=environment
        )
        assert "AddressSanitizer" not in done.stderr, done.stderr
        assert done.returncode == (0 if "1234567" in code else 1), done.stderr
