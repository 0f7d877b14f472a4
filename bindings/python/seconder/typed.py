"""Types for annotations. This module imports :mod:`typing`, so the package imports it only on first
use."""

from __future__ import annotations

from typing import Literal, Protocol, TypedDict


class Logo(TypedDict):
    """An image to show with an approval request (section 4.12).

    >>> logo: seconder.Logo = {"res": "default", "url": "https://example.com/logo.png"}
    >>> request = service.create_approval(user.user_id, "Log in?", logos=[logo])
    """

    res: Literal["default", "low", "med", "high"]
    """The resolution of the image; among several images, one must be ``default``."""
    url: str
    """The URL of the image."""


class OfflineLogin(TypedDict):
    """A login that was accepted while the service was unreachable (section 4.22).

    >>> login: seconder.OfflineLogin = {"step": 59200000, "time": 1776000000}
    """

    step: int
    """The step of the code."""
    time: int
    """When the code was accepted, in Unix seconds."""


class Replay(Protocol):
    """Remembers callbacks, so that each is accepted once. An application of several processes needs
    one that they share, such as a table with a unique key; :class:`seconder.callback.Memory` is for
    one process."""

    def first_time(self, key: str, until: float) -> bool:
        """Returns whether the callback was received for the first time, and remembers it. Looking
        up and inserting must be one atomic step.

        Args:
            key: The callback's signature, which covers all of it.
            until: When it can be forgotten, in Unix seconds; infinite without ``fresh``.

        Returns:
            True if it was not remembered before.

        Example:
            >>> class Everything:
            ...     def __init__(self) -> None:
            ...         self.keys: set[str] = set()
            ...
            ...     def first_time(self, key: str, until: float) -> bool:
            ...         before = len(self.keys)
            ...         self.keys.add(key)
            ...         return len(self.keys) > before
            >>> memory: seconder.callback.Replay = Everything()
            >>> memory.first_time("a-signature", 4e9), memory.first_time("a-signature", 4e9)
            (True, False)
        """
