"""Imports, the error for a missing framework, and the examples of the documentation."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from contrib import signing

FRAMEWORKS = [
    *("flask", "flask_login", "flask_security", "werkzeug", "click", "django", "asgiref"),
    *("starlette", "fastapi", "pydantic", "redis", "sqlite3"),
]


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_no_framework() -> None:
    program = f"import seconder, sys; print([name for name in {FRAMEWORKS} if name in sys.modules])"
    assert python(program) == "[]"


@pytest.mark.parametrize(
    "name, package",
    [
        ("flask", "Flask"),
        ("flask.login", "Flask-Login"),
        ("flask.security", "Flask-Security"),
        ("django", "Django"),
        ("asgi", "Starlette"),
        ("fastapi", "FastAPI"),
    ],
)
def test_a_missing_framework_is_named_with_its_package(name: str, package: str) -> None:
    program = f"""
import sys
sys.modules["{package.lower().replace("-", "_")}"] = None
try:
    import seconder.contrib.{name}
except ModuleNotFoundError as error:
    print(error)
"""
    command = f"pip install {package.lower()}"
    assert python(program) == f"seconder.contrib.{name} needs {package}: {command}"


@pytest.mark.parametrize("name", ["flask", "flask.login", "asgi", "fastapi", "replay"])
def test_the_examples_in_the_modules_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"seconder.contrib.{name}")
    done = doctest.testmod(module)
    assert done.attempted > 1 and done.failed == 0


def test_the_example_in_the_django_module_runs(tmp_path: Path) -> None:
    import seconder.contrib.django

    document = seconder.contrib.django.__doc__ or ""
    block = document[document.index("::") + 2 :]
    example = "\n".join(re.findall(r"^ {4}(.*)$|^$", block, re.MULTILINE))
    program = f"""
import logging
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "seconder.contrib.django",
    ],
    SECONDER_KEY="key",
    ROOT_URLCONF="__main__",
)
django.setup()
import seconder
from django.urls import path, resolve
logger = logging.getLogger()
{example}
print(resolve("/seconder/callback").func.__name__)
"""
    assert python(program) == "answered"


PRELUDES = {
    "flask": "import flask\napp = flask.Flask('example')",
    "asgi": "import fastapi\napp = fastapi.FastAPI()",
    "django": """
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "seconder.contrib.django",
    ],
    ROOT_URLCONF="__main__",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()
from django.core.management import call_command
from django.urls import path
call_command("migrate", verbosity=0)
""",
}
CLIENTS = {
    "flask": "app.test_client()",
    "asgi": "__import__('fastapi.testclient').testclient.TestClient(app)",
    "django": "__import__('django.test').test.Client()",
}


@pytest.mark.parametrize("name", PRELUDES)
def test_the_programs_in_the_web_document_run(name: str, tmp_path: Path) -> None:
    document = (Path(__file__).parents[4] / "docs" / "web.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    (block,) = [block for block in blocks if f"from seconder.contrib.{name} import callback" in block]
    params = signing.parameters()
    path = f"{signing.PATH}?{signing.pairs(params)}"
    program = f"""
{PRELUDES[name]}
import seconder
from seconder.contrib.replay import SqlReplay
KEY, memory = {signing.KEY!r}, SqlReplay.sqlite({str(tmp_path / "replay.db")!r})
{block}
client = {CLIENTS[name]}
for _ in range(2):
    print(client.get({path!r}, headers={signing.headers(params, "GET")!r}).status_code)
"""
    assert python(program).split() == ["7", "approved", params["uuid"], "200", "401"]
