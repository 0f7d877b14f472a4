"""Runs Flask-Login's and Flask-Security's own tests with the adapters.

They run where an adapter takes a part of the framework's place: Flask-Login's manager of users, and
Flask-Security's second factor, also for users who have none. Own tests of what no adapter changes
would prove nothing: tests of Flask, of FastAPI, whose adapter adds dependencies to the
application's own, of Django REST framework, whose adapter is a permission, and of Flask-Security's
own second factors, which are closed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from contrib.own import TESTS, run, source

OWN = TESTS / "contrib" / "flask_own"


def test_the_tests_of_flask_login_pass_with_the_manager(tmp_path: Path) -> None:
    options = ("-c", os.devnull, "--rootdir", str(tmp_path))
    path = (source("flask-login", tmp_path) / "tests", TESTS)
    run(*options, str(OWN / "login_tests.py"), folder=tmp_path, path=path)


DATABASES = ("mongo", "peewee", "fsqlalite", "session")
"""Databases and ways to use them, other than the one that is tested with."""
LEFT_OUT = (
    *DATABASES,
    # They need a package that rates passwords.
    "easy_password",
    # Between the two steps, Flask-Security adds its own page as the one to go on to.
    "root_domain",
    "view_redirect",
    "form_username_required",
    # The cookie does not replace the second factor.
    "test_remember_token",
    "remember_fresh",
    "updates_remember",
    # They have no cookies, so no login in two steps.
    "token_uniquifier",
)


def test_the_tests_of_flask_security_pass_with_the_plug_in(tmp_path: Path) -> None:
    own = source("flask-security", tmp_path) / "tests"
    # Its tests alone: the package is the installed one.
    folder = tmp_path / "alone"
    chosen = folder / "tests" / "chosen"
    shutil.copytree(own, folder / "tests")
    shutil.copytree(own / "templates", chosen / "templates")
    for name in ("__init__.py", "test_utils.py", "test_basic.py", "test_changeable.py"):
        shutil.copy(own / name, chosen)
    shutil.copy(OWN / "security_conftest.py", chosen / "conftest.py")
    options = ("-c", os.devnull, "--assert=plain", "--rootdir", str(folder), str(chosen), "-k")
    # For users without a second factor, nothing changes.
    others = "(remember or token or uniquifier) and not session and not mongo"
    run(*options, others, folder=folder, path=(TESTS,))
    enrolled = " and ".join(f"not {name}" for name in LEFT_OUT)
    run(*options, enrolled, folder=folder, path=(TESTS,), SECONDER_ENROLLED="1")
