"""The pytest plugin of ``seconder.testing``.

pytest loads it by its entry point in every test suite that has the package installed. It is a
package of its own, outside ``seconder``, so that a suite that uses no fixture of it does not load
the native module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from seconder.testing import Sandbox


@pytest.fixture
def seconder_sandbox_settings() -> dict[str, Any]:
    """The arguments of the sandbox in ``seconder_sandbox``. Override it to change them."""
    return {}


@pytest.fixture
def seconder_sandbox(seconder_sandbox_settings: dict[str, Any]) -> Iterator[Sandbox]:
    """A second factor in memory: see seconder.testing.Sandbox."""
    from seconder.testing import Sandbox

    with Sandbox(**seconder_sandbox_settings) as sandbox:
        yield sandbox
