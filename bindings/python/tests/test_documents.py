"""The Python code in the documents runs exactly as it is printed there."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import seconder

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
DOCUMENTS = ROOT / "docs"
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))


def blocks(document: str) -> list[tuple[str, str]]:
    """The code blocks, each with its language."""
    text = (DOCUMENTS / document).read_text()
    return re.findall(r"^```(pycon|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs_as_one_session_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_session("tutorial.md")
    run_session("tutorial.md")
    assert not list(tmp_path.iterdir())


def test_the_procedures_for_lost_phones_and_new_numbers_work_as_documented() -> None:
    run_session("users.md")


def run_session(document: str) -> None:
    """Runs the examples of a document, each with what those before it have left."""
    session: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for language, code in blocks(document):
        if language == "python":
            exec(code, session)
            continue
        test = doctest.DocTestParser().get_doctest(code, session, document, None, None)
        failures: list[str] = []
        runner.run(test, out=failures.append, clear_globs=False)
        assert not failures, "".join(failures)
        session = test.globs
    assert runner.tries > 10 and not runner.failures


def test_a_database_is_backed_up_and_restored_as_documented(tmp_path: Path) -> None:
    database = tmp_path / "seconder.db"
    text = (DOCUMENTS / "operations.md").read_text()
    commands = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    back_up, restore, restored = [
        next(text for text in commands if text.startswith(f"seconder {name} "))
        for name in ("backup", "restore", "spend-codes")
    ]
    with seconder.open(f"sqlite:{database}") as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        browser = service.remember(user.user_id)
        # While the service has it open, the user is in the log alone.
        shell(back_up, tmp_path)
        service.delete_user(user.user_id)
    shell(restore, tmp_path)
    assert database.stat().st_mode & 0o777 == 0o600
    with seconder.open(
        f"sqlite:{database}", engine=seconder.EngineOptions(must_exist=True)
    ) as service:
        assert service.user_status(user.user_id).user_id == user.user_id
        assert not service.recognise(user.user_id, browser.token)
        browser = service.remember(user.user_id)
        assert service.recognise(user.user_id, browser.token)
        shell(restored, tmp_path)
        assert not service.recognise(user.user_id, browser.token)


def shell(commands: str, folder: Path) -> str:
    command = ["sh", "-eu", "-c", commands]
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


APPLICATION = '''
import pytest, seconder
from seconder.testing import Sandbox

def log_in(service, user, typed):
    try:
        service.verify(user, typed)
    except seconder.TokenInvalid:
        return "wrong"
    except seconder.Unavailable:
        return "later"
    return "in"

class client:
    """A web framework's test client, in front of an endpoint that checks."""
    class Response:
        status_code = 200

    @classmethod
    def post(cls, path, data, headers):
        response = cls.Response()
        try:
            seconder.callback.verify(
                api_key="the-key-of-the-sandbox", url="https://app.example" + path, method="POST",
                body=data, signature=headers["X-Svc-Signature"],
                nonce=headers["X-Svc-Signature-Nonce"], fresh=300,
            )
        except seconder.InvalidCallback:
            response.status_code = 401
        return response
'''


def test_the_examples_in_the_testing_document_run(pytester: pytest.Pytester) -> None:
    examples = [APPLICATION]
    for number, (_, code) in enumerate(blocks("testing.md")):
        if code.startswith("# "):
            continue
        if not re.match("def test_|@pytest", code):
            code = f"def test_block_{number}():\n" + textwrap.indent(code, "    ")
        examples.append(code)
    pytester.makepyfile("\n\n".join(examples))
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=11)


def test_the_example_of_the_sandbox_document_runs(served_sandbox: dict[str, Any]) -> None:
    ((_, code),) = blocks("sandbox.md")
    code = code.replace("https://127.0.0.1:8443", served_sandbox["url"])
    assert "seconder-sandbox.pem" in code and served_sandbox["url"] in code
    code = code.replace("seconder-sandbox.pem", str(served_sandbox["ca_file"]))
    exec(compile(code, "sandbox.md", "exec"), {})


DJANGO_SETTINGS = """
SECRET_KEY = "of the test"
ROOT_URLCONF = "django_shop"
ALLOWED_HOSTS = ["testserver"]
"""


def test_the_recipes_of_the_testing_document_run(pytester: pytest.Pytester) -> None:
    """Their files begin with their names. Each application keeps its service."""
    for _, code in blocks("testing.md"):
        if code.startswith("# "):
            name, _, program = code.removeprefix("# ").partition("\n")
            assert "cache" in program
            pytester.path.joinpath(name).write_text(program)
    pytester.makepyfile(django_settings=DJANGO_SETTINGS)
    pytester.makeini("[pytest]\npythonpath = .\nDJANGO_SETTINGS_MODULE = django_settings")
    outcome = pytester.runpytest_subprocess("-W", "error")
    outcome.assert_outcomes(passed=6)


@pytest.mark.parametrize("document", ["migrate.md", "index.md", "names.md"])
def test_the_other_examples_compile(document: str) -> None:
    examples = blocks(document)
    assert examples
    for _, code in examples:
        body = textwrap.indent(code, "    ")
        compile(f"def example():\n{body}", document, "exec")
