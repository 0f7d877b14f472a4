"""What the tests do with a phone: a browser with storage of its own, and a person who uses it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from processes import PATIENCE, wait

T = TypeVar("T")

WATCH = """
window.complaints ??= [];
document.addEventListener("securitypolicyviolation", (event) =>
  complaints.push(`${event.violatedDirective} blocked ${event.blockedURI} ${event.sample}`));
addEventListener("error", (event) => complaints.push(event.message));
addEventListener("unhandledrejection", (event) => complaints.push(String(event.reason)));
"""
"""Records the errors of a page, and what its content security policy blocks."""


class ScriptFailed(Exception):
    """A script raised an exception, or the page went away while it ran."""


class Phone(ABC):
    """A browser whose storage is new, and is gone after `close`."""

    name: ClassVar[str]
    pushes: ClassVar[bool]
    """Whether this browser has Web Push."""

    @abstractmethod
    def open(self, url: str) -> None:
        """Loads a page."""

    @abstractmethod
    def script(self, body: str, *arguments: object) -> Any:
        """Runs the body of an asynchronous function, and returns its result, which is JSON.

        Raises:
            ScriptFailed: The function raised an exception, or there is another page now.
        """

    @abstractmethod
    def click(self, selector: str) -> None:
        """Clicks on the first element, as a person does."""

    @abstractmethod
    def keys(self, text: str) -> None:
        """Presses keys. WebDriver has characters for those that write none, such as `Keys.TAB`."""

    @abstractmethod
    def permit(self, origin: str, notifications: bool) -> None:
        """Decides for the user whether the origin may show notifications."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """The errors and warnings that the browser has logged since the last call."""

    @abstractmethod
    def close(self) -> None:
        """Ends the browser, or makes it forget this phone."""

    def wake(self) -> None:
        """Looks at it, where phones share a window. A page that is hidden does nothing."""

    def wait(self, until: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
        """Waits until a condition holds, also while one page follows another."""

        def found() -> T | None:
            try:
                return until()
            except ScriptFailed:
                return None

        self.wake()
        try:
            return wait(found, what, seconds)
        except AssertionError as error:
            shown = self.script("return location.hash + '\\n' + document.body.innerText")
            raise AssertionError(f"{error} in {self.name}, which shows {shown}") from None

    def see(self, selector: str) -> str:
        """Waits until the first element is visible and can be used, and returns its text."""
        script = """
          const found = document.querySelector(arguments[0]);
          return found && found.checkVisibility() && !found.matches("[disabled], [aria-disabled=true]")
            && [found.innerText];
        """
        text: list[str] = self.wait(lambda: self.script(script, selector), selector)
        return text[0]

    def press(self, selector: str) -> None:
        """Clicks on an element as soon as it can be used."""
        self.see(selector)
        self.click(selector)

    def fill(self, selector: str, text: str) -> None:
        """Types into a field, in place of what is there."""
        self.press(selector)
        self.script("document.querySelector(arguments[0]).select()", selector)
        self.keys(text)


def environment(folder: Path) -> dict[str, str]:
    """Makes a browser keep everything in the folder, and speak American English."""
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    folders = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime)}
    return {**os.environ, **folders, "LC_ALL": "C"}
