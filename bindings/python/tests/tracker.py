"""An error tracker, for tests of what it gets of an error: the SDK of Sentry, with its default scrubber,
sends the local variables of every frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sentry_sdk

TESTS = Path(__file__).parent
CLIENTS = ("werkzeug.test", "flask.testing", "starlette.testclient", "httpx")
"""The modules by which tests send requests: their frames hold what was sent."""


@contextmanager
def tracking() -> Iterator[list[dict[str, Any]]]:
    """Collects the events that the SDK sends."""
    events: list[dict[str, Any]] = []

    # It gets an event after the scrubber, as it would be sent, and keeps it from being sent.
    def capture(event: Any, hint: Any) -> None:
        events.append(dict(event))

    # The integrations of frameworks that this process happens to have are not tested here.
    sentry_sdk.init(
        dsn="https://public@sentry.example/1",
        before_send=capture,
        auto_enabling_integrations=False,
        include_local_variables=True,
        max_value_length=100_000,
    )
    try:
        yield events
    finally:
        sentry_sdk.get_client().close(timeout=0)
        sentry_sdk.init()


def captured(call: Callable[[], object]) -> BaseException:
    """Reports the error of a call as an application's handler does. The frame of a request is not
    the library's: the names in it are the application's."""
    try:
        result = call()
    except Exception as error:
        sentry_sdk.capture_exception(error)
        return error
    raise AssertionError(f"the call succeeded: {result!r}")


def without_tests(events: list[dict[str, Any]]) -> str:
    """The events without the frames of the tests and of the interpreter's threads."""
    for event in events:
        for exception in event.get("exception", {}).get("values", []):
            stack = exception.get("stacktrace") or {"frames": []}
            stack["frames"][:] = filter(_is_tested, stack["frames"])
        event.pop("modules", None)
    return json.dumps(events, default=repr)


def frames(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns all frames of events except the tests'."""
    exceptions = [each for event in events for each in event["exception"]["values"]]
    stacks = [each["stacktrace"]["frames"] for each in exceptions if each.get("stacktrace")]
    assert stacks
    return [each for stack in stacks for each in stack if _is_tested(each)]


def own(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames of the package."""
    return [each for each in frames(events) if each["module"].startswith("seconder")]


def showing(frames: list[dict[str, Any]], *hidden: str) -> list[str]:
    """Returns the frames that show one of these texts, as the user typed it or as it is sent."""
    return [
        f"{each['module']}.{each['function']}"
        for each in frames
        for text in [json.dumps(each.get("vars"), default=repr).replace(" ", "")]
        if any(secret in text for secret in hidden)
    ]


def _is_tested(frame: dict[str, Any]) -> bool:
    own = TESTS in Path(frame["abs_path"]).parents
    return not own and not str(frame["module"]).startswith(CLIENTS)
