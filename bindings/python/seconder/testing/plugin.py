"""The pytest plugin. pytest loads it by its entry point as soon as the package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seconder.testing import Sandbox


@pytest.fixture
def seconder_sandbox_settings() -> dict[str, Any]:
    """The arguments of the sandbox that ``seconder_sandbox`` is. Override it to change them."""
    return {}


@pytest.fixture
def seconder_sandbox(seconder_sandbox_settings: dict[str, Any]) -> Iterator[Sandbox]:
    """A second factor in memory: see seconder.testing.Sandbox."""
    with Sandbox(**seconder_sandbox_settings) as sandbox:
        yield sandbox
