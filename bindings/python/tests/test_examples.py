"""The examples in the documentation produce the output they show."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seconder


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = pkgutil.walk_packages(seconder.__path__, "seconder.", onerror=lambda name: None)
    for name in ["seconder", *(module.name for module in modules)]:
        if name.startswith("seconder.contrib."):
            continue  # They need sites and databases: see contrib/test_contrib_package.py.
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # Its framework is not installed.
        yield from (test for test in finder.find(module, name) if test.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_it_produces_the_output_it_shows(example: doctest.DocTest) -> None:
    """Each example gets a sandbox that accepts one code, a user of it, and its messages."""
    messages: list[seconder.Message] = []
    with seconder.open(
        "sandbox:?accept=0000000",
        deliver=messages.append,
        engine=seconder.EngineOptions(application_name="Example"),
    ) as service:
        user = service.create_user("ada@example.com", "555-010-0123", 1)
        example.globs.update(asyncio=asyncio, seconder=seconder, service=service)
        example.globs.update(user=user, messages=messages)
        failures: list[str] = []
        result = doctest.DocTestRunner().run(example, out=failures.append, clear_globs=False)
    assert result.attempted and not result.failed, "".join(failures)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks run one after the other, with the code read from the message."""
    monkeypatch.chdir(tmp_path)

    def read_the_code(question: str) -> str:
        message = max((tmp_path / "seconder.spool").iterdir()).read_text()
        return next(line[6:] for line in message.splitlines() if line.startswith("Code: "))

    printed: list[str] = []
    names: dict[str, Any] = {
        "input": read_the_code,
        "print": lambda *values: printed.append(" ".join(map(str, values))),
    }
    text = (Path(__file__).parents[1] / "README.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 7
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert printed == [
        "Welcome, Ada.",
        "7 ['ios']",
        "Access denied: pending",
        "otpauth://totp/",
    ]
