"""The Python code in the documents runs exactly as it is printed there."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

DOCUMENTS = Path(__file__).parents[3] / "docs"


def blocks(document: str) -> list[tuple[str, str]]:
    """The code blocks, each with its language."""
    text = (DOCUMENTS / document).read_text()
    return re.findall(r"^```(pycon|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs_as_one_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for language, code in blocks("tutorial.md"):
        if language == "python":
            exec(code, session)
            continue
        test = doctest.DocTestParser().get_doctest(code, session, "tutorial.md", None, None)
        failures: list[str] = []
        runner.run(test, out=failures.append, clear_globs=False)
        assert not failures, "".join(failures)
        session = test.globs
    assert runner.tries > 25 and not runner.failures
    assert (tmp_path / "tutorial.db").exists()


APPLICATION = '''
import pytest, seconder
from seconder.testing import Sandbox

def log_in(service, user, typed):
    try:
        service.verify(typed, user, force=True)
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
        if not re.match("def test_|@pytest", code):
            code = f"def test_block_{number}():\n" + textwrap.indent(code, "    ")
        examples.append(code)
    pytester.makepyfile("\n\n".join(examples))
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=6)


@pytest.mark.parametrize("document", ["migrate.md", "index.md"])
def test_the_other_examples_compile(document: str) -> None:
    examples = blocks(document)
    assert examples
    for _, code in examples:
        body = textwrap.indent(code, "    ")
        compile(f"def example():\n{body}", document, "exec")
