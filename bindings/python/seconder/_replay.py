"""The type of what remembers callbacks. This module imports :mod:`typing`, so the package imports it
only on first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict as TypedDict
else:
    try:
        # Pydantic rejects the one of typing on these Pythons, and requires this package itself.
        from typing_extensions import TypedDict as TypedDict
    except ModuleNotFoundError:
        from typing import TypedDict as TypedDict


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
