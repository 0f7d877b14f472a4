"""Every text exists in every language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "server" / "approver"
LANGUAGES = ["ar", "de", "en", "es", "fr", "pt"]


def texts(language: str) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((SOURCES / "assets" / f"{language}.json").read_text())
    return loaded


def test_these_are_the_languages() -> None:
    assert sorted(path.stem for path in SOURCES.glob("assets/*.json")) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_all_texts_with_the_same_values(language: str) -> None:
    english, other = texts("en"), texts(language)
    assert list(other) == list(english)
    for key, text in english.items():
        assert other[key].strip(), key
        assert sorted(re.findall(r"{\w+}", other[key])) == sorted(re.findall(r"{\w+}", text)), key


def test_every_text_is_used_and_every_used_text_exists() -> None:
    page = (SOURCES / "index.html").read_text()
    code = "".join(path.read_text() for path in SOURCES.glob("assets/*.js"))
    named = re.findall(r'data-t="([^"]+)"', page) + re.findall(r'\bt\("([^"]+)"', code)
    patterns = [re.sub(r"\\{\w+\\}", r"\\w+", re.escape(name)) for name in named]
    keys = texts("en")
    for name, pattern in zip(named, patterns, strict=True):
        assert any(re.fullmatch(pattern, key) for key in keys), name
    # The words of errors come from the service.
    unused = [key for key in keys if not any(re.fullmatch(one, key) for one in patterns)]
    assert [key for key in unused if not key.startswith(("error.", "trouble."))] == []
