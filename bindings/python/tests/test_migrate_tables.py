"""The queries of docs/migrate.md, on the tables that other programs make themselves."""

from __future__ import annotations

import csv
import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import seconder

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))
SECRET = "GVVBSK3ZCOYEYVCXJUMMFDKG4Y4VIKFL"
SECOND = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

# The tables as the packages' own migrations make them, with an app for each of two accounts. Django is set up once for
# a process.
SITE = f"""
import base64, sys
import django
from django.conf import settings
from django.core.management import call_command

APPS = "auth contenttypes sessions".split()
settings.configure(
    DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}}}},
    INSTALLED_APPS=[f"django.contrib.{{app}}" for app in APPS]
    + ["django_otp", "django_otp.plugins.otp_totp", "django_otp.plugins.otp_static"]
    + ["allauth", "allauth.account", "allauth.mfa"],
    MIDDLEWARE=["allauth.account.middleware.AccountMiddleware"],
    SECRET_KEY="x",
    USE_TZ=True,
)
django.setup()
call_command("migrate", verbosity=0)
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import User
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

secret = "{SECRET}"
ada = User.objects.create_user("ada", "ada@example.com")
bob = User.objects.create_user("bob", "")
eve = User.objects.create_user("eve", "eve@example.com")
for user in (ada, bob):
    TOTPDevice.objects.create(user=user, name="default", key=base64.b32decode(secret).hex())
    TOTP.activate(user, secret)
TOTPDevice.objects.create(user=ada, name="tablet", key=base64.b32decode("{SECOND}").hex())
TOTPDevice.objects.create(user=eve, name="default", confirmed=False)
static = StaticDevice.objects.create(user=ada, name="backup")
StaticToken.objects.create(device=static, token=StaticToken.random_token())
RecoveryCodes.activate(ada)
"""


def queries() -> dict[str, str]:
    """The queries of the page, by what they begin with."""
    page = (ROOT / "docs" / "migrate.md").read_text()
    block = re.search(r"^```sql\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert block
    found = [part.split("\n", 1) for part in block[1].split("-- ")[1:]]
    # What PostgreSQL calls json_agg and json_build_object.
    of_sqlite = {"json_agg": "json_group_array", "json_build_object": "json_object"}
    for other, own in of_sqlite.items():
        found = [[title, query.replace(other, own)] for title, query in found]
    return {title.split(",")[0]: query for title, query in found}


def logged_in(
    folder: Path, name: str, database: sqlite3.Connection, query: str, program: list[str]
) -> list[int]:
    """Imports what a query returns, and returns the users whose codes are right then."""
    folder = folder / name
    folder.mkdir()
    rows = database.execute(query)
    with (folder / "users.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column[0] for column in rows.description])
        writer.writerows(rows)
    url = f"sqlite:{folder / 'seconder.db'}"
    seconder.open(url).close()
    command = [*program, "import", "--database", url, "users.csv"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "created=2 " in done.stdout, done
    with seconder.open(url) as service:
        found = []
        for user in (1, 2, 3):
            try:
                apps = service.user_status(user).factors
            except seconder.UserNotFound:
                continue
            assert apps and all(app.confirmed for app in apps.authenticators)
            # Codes up to now may have been used in the other program.
            code = seconder.totp.code(f"otpauth://totp/Site:ada?secret={SECRET}&issuer=Site", time.time() + 30)
            service.verify(user, code)
            if len(apps.authenticators) > 1:
                uri = f"otpauth://totp/Site:ada?secret={SECOND}&issuer=Site"
                service.verify(user, seconder.totp.code(uri, time.time() + 30))
                found.append(user)
            found.append(user)
        return found


@pytest.mark.parametrize("program", [[str(PROGRAM)], [sys.executable, "-m", "seconder"]], ids=["program", "module"])
def test_the_queries_of_the_page_fit_the_tables(tmp_path: Path, program: list[str]) -> None:
    file = tmp_path / "site.db"
    subprocess.run([sys.executable, "-c", SITE, str(file)], check=True, timeout=120)
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE accounts (id INTEGER, email TEXT, otp_secret TEXT)")
    accounts = [(1, "ada@example.com", SECRET), (2, "bob@example.com", SECRET)]
    accounts.append((3, "eve@example.com", ""))
    database.executemany("INSERT INTO accounts VALUES (?, ?, ?)", accounts)
    found = queries()
    assert list(found) == ["django-otp", "django-allauth", "a column with the secret of pyotp"]
    for number, query in enumerate(found.values()):
        # Ada has two apps in the first program, and each of them has right codes.
        expected = [1, 1, 2] if number == 0 else [1, 2]
        assert logged_in(tmp_path, str(number), database, query, program) == expected, query
    database.close()
