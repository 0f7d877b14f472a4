"""The fuzzer of the Python interface finds nothing in a short run, and finds what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).parents[3] / "fuzz" / "api"

RUN = f"import runpy; runpy.run_path({str(FUZZER)!r}, run_name='__main__')"
SABOTAGE = """
import functools, seconder

def sabotage(name, wrong):
    right = getattr(seconder.Service, name)

    @functools.wraps(right)
    def method(self, *args, **options):
        return wrong(functools.partial(right, self), *args, **options)

    setattr(seconder.Service, name, method)
"""

LETS_IN = """
def verify(right, user_id, token, *args, **options):
    try:
        return right(user_id, token, *args, **options)
    except seconder.TokenInvalid as error:
        if error.reused or isinstance(error, seconder.TokenMalformed):
            raise
        return "right"

sabotage("verify", verify)
"""

AGAIN = """
def verify(right, user_id, token, *args, **options):
    try:
        return right(user_id, token, *args, **options)
    except seconder.TokenInvalid as error:
        if not error.reused:
            raise
        return "right"

sabotage("verify", verify)
"""

LEAKS = """
def verify(right, user_id, token, *args, **options):
    try:
        return right(user_id, token, *args, **options)
    except seconder.TokenInvalid as error:
        raise seconder.TokenInvalid(f"{error}: {token}") from None

sabotage("verify", verify)
"""

OTHER_ERROR = """
def create_user(right, email, *args, **options):
    return right(email.lower(), *args, **options)

sabotage("create_user", create_user)
"""

STAYS_OPEN = """
def app_details(right, *args, **options):
    try:
        return right(*args, **options)
    except seconder.InvalidArgument:
        return "details"

sabotage("app_details", app_details)
"""


def fuzz(seconds: int, sabotage: str = "") -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.argv[1:] = {['--seed', 'test', '--seconds', str(seconds)]!r}\n"
    program += f"{SABOTAGE}{sabotage}\n{RUN}"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )


def test_a_short_run_finds_nothing() -> None:
    done = fuzz(5)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "verify " in done.stdout


@pytest.mark.parametrize(
    ("sabotage", "found"),
    [
        (LETS_IN, "verify returns for "),
        (AGAIN, "verify returns for a code that was used"),
        (LEAKS, "the error of verify shows a secret"),
        (OTHER_ERROR, "create_user raises AttributeError"),
        (STAYS_OPEN, "app_details returns after the service was closed"),
    ],
)
def test_what_is_wrong_is_found(sabotage: str, found: str) -> None:
    done = fuzz(120, sabotage)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"VIOLATION: {found}" in done.stderr
    assert "Repeat it: python fuzz/api --seed test --round " in done.stderr
