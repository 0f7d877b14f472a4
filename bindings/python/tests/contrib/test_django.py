"""Runs the tests of the Django site, and the own tests of django-otp and django-allauth with the
adapters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from contrib.conftest import ROOT
from contrib.own import SOURCES, TESTS, run, source

OWN = TESTS / "contrib" / "django_site" / "own"
SITE = "contrib.django_site"


def test_the_tests_of_the_site_pass() -> None:
    run("contrib/django_site", "--ignore=contrib/django_site/own", settings=f"{SITE}.settings")


OLDEST = """
import django
from django.conf import settings
assert django.VERSION[:2] == (4, 2)
apps = ["django.contrib.auth", "django.contrib.contenttypes", "seconder.contrib.django"]
field = "django.db.models.BigAutoField"
database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
settings.configure(
    INSTALLED_APPS=apps,
    DATABASES={"default": database},
    DEFAULT_AUTO_FIELD=field,
    SECONDER={"URL": "sandbox:"},
)
django.setup()
from django.core.management import call_command
call_command("check")
call_command("makemigrations", "seconder", check=True, dry_run=True)
call_command("migrate", verbosity=0)
"""


def test_the_oldest_django_that_is_promised_works(tmp_path: Path) -> None:
    assert "django>=4.2" in (ROOT / "bindings" / "python" / "pyproject.toml").read_text()
    folder = SOURCES / "django-4.2"
    if not folder.exists():
        options = ["-q", "--no-deps", "--target", str(tmp_path / "new"), "django==4.2.*"]
        subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True, timeout=300)
        SOURCES.mkdir(parents=True, exist_ok=True)
        shutil.move(tmp_path / "new", folder)
    environment = {key: value for key, value in os.environ.items() if "DJANGO" not in key}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(TESTS.parent)])
    done = subprocess.run(
        [sys.executable, "-c", OLDEST], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tests_of_django_otp_pass_with_the_device(tmp_path: Path) -> None:
    own = source("django-otp", tmp_path)
    # The installed package leaves its tests out.
    path = (own / "src", own / "test", TESTS)
    options = ("-c", os.devnull, "--rootdir", str(tmp_path))
    theirs = str(own / "src" / "django_otp" / "tests.py")
    ours, settings = str(OWN / "otp_tests.py"), f"{SITE}.own.otp_settings"
    run(*options, theirs, ours, settings=settings, folder=tmp_path, path=path)


def test_the_tests_of_allauth_pass_with_the_adapter(tmp_path: Path) -> None:
    own = source("django-allauth", tmp_path)
    # Its tests alone: the package is the installed one.
    folder = tmp_path / "alone"
    folder.mkdir()
    shutil.move(own / "tests", folder / "tests")
    options = ("-c", os.devnull, "--rootdir", str(folder))
    settings, mfa = f"{SITE}.own.allauth_settings", folder / "tests" / "apps" / "mfa"
    # Accounts without an enrolment keep what allauth offers: nothing changes.
    run(*options, str(mfa), settings=settings, folder=folder, path=(TESTS,))
    # Accounts with one. What is left out calls allauth's own check of codes directly.
    shutil.copy(OWN / "allauth_conftest.py", mfa / "conftest.py")
    chosen = [str(mfa / each) for each in ("base", "totp/test_views.py", "recovery_codes")]
    left_out = ("-k", "not code_reuse and not normalizes")
    run(*options, *left_out, *chosen, settings=settings, folder=folder, path=(TESTS,))
