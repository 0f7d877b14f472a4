"""What programs are typed with. It loads the module ``typing``, so the package itself does not load
it before it is asked for."""

from __future__ import annotations

from typing import Literal, Protocol, TypedDict


class Logo(TypedDict):
    """A picture to show with an approval request (section 4.12).

    >>> logo: seconder.Logo = {"res": "default", "url": "https://example.com/logo.png"}
    >>> asked = service.create_approval(user.id, "Log in?", logos=[logo])
    """

    res: Literal["default", "low", "med", "high"]
    """How fine the picture is; of all that are given, one must be ``default``."""
    url: str
    """Where the picture is."""


class Replay(Protocol):
    """Remembers callbacks, so that each is believed once. An application of several processes gives
    one that they share, such as a table with a unique key; :class:`seconder.callback.Memory` serves
    one process."""

    def first_time(self, key: str, until: float) -> bool:
        """Whether the callback is here for the first time; it is remembered then. Looking and
        remembering must be one step.

        Args:
            key: The callback's signature, which covers all of it.
            until: When it can be forgotten, in Unix seconds; infinite without ``fresh``.

        Returns:
            True when it was not remembered yet.

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
