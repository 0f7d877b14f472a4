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

MARK = "seconder"
FAIL_UNUSED = "seconder_fail_unused_faults"
_NOT_OVERRIDDEN: dict[str, Any] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        FAIL_UNUSED,
        "fail tests that inject a fault into seconder_sandbox which no call meets",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(**options): use the fixture seconder_sandbox, with these arguments of "
        "seconder.testing.Sandbox",
    )


@pytest.fixture
def seconder_options() -> dict[str, Any]:
    """The arguments of the sandbox in ``seconder_sandbox``. Override it to change them; arguments
    of the mark ``seconder`` take precedence."""
    return {}


@pytest.fixture
def seconder_sandbox_settings() -> dict[str, Any]:
    """The earlier name of seconder_options. A fixture of this name is an error, because it would have
    no effect."""
    return _NOT_OVERRIDDEN


@pytest.fixture
def seconder_sandbox(
    seconder_options: dict[str, Any],
    seconder_sandbox_settings: dict[str, Any],
    request: pytest.FixtureRequest,
) -> Iterator[Sandbox]:
    """A second factor in memory: see seconder.testing.Sandbox."""
    from seconder.testing import Sandbox

    if seconder_sandbox_settings is not _NOT_OVERRIDDEN:
        raise pytest.UsageError(
            "the fixture seconder_sandbox_settings is now called seconder_options: rename yours"
        )
    with Sandbox(**_options(request, seconder_options)) as sandbox:
        yield sandbox
    if request.config.getini(FAIL_UNUSED) and sandbox.unused_faults:
        unused = "; ".join(map(str, sandbox.unused_faults))
        pytest.fail(f"the test injected a fault that it did not use: {unused}", pytrace=False)


@pytest.fixture(autouse=True)
def _seconder_mark(request: pytest.FixtureRequest) -> None:
    """Opens the sandbox for a test that has the mark, and does not name the fixture."""
    if request.node.get_closest_marker(MARK) is not None:
        request.getfixturevalue("seconder_sandbox")


def _options(request: pytest.FixtureRequest, options: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the sandbox of a test: the closest mark's win."""
    import inspect

    from seconder.testing import Sandbox

    given = [("the fixture seconder_options", options)]
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if mark.args:
            raise pytest.UsageError(f"the mark {MARK} takes its options by name")
        given.append((f"the mark {MARK}", mark.kwargs))
    known = inspect.signature(Sandbox).parameters
    merged: dict[str, Any] = {}
    for place, each in given:
        unknown = ", ".join(sorted(each.keys() - known))
        if unknown:
            message = f"{place} has an unknown option: {unknown}. Known are {', '.join(known)}"
            raise pytest.UsageError(message)
        merged.update(each)
    return merged
