"""Callbacks as an application's endpoint receives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Callback:
    """A request that the service makes to the application when a user answered (section 6)."""

    url: str
    """The callback URL of the sandbox's settings, which is signed."""
    body: bytes = field(repr=False)
    """The JSON body."""
    headers: Mapping[str, str] = field(repr=False)
    """The headers: the media type, the signature and its nonce."""
    method: str = "POST"
    """The method, which is signed too."""

    def forged(self) -> Callback:
        """The same with a signature that does not hold: the application must answer 401.

        >>> from seconder.testing import Sandbox
        >>> with Sandbox() as sandbox:
        ...     callback = sandbox.signed(b'{"uuid": "1", "status": "approved"}')
        >>> callback.forged().headers["X-Svc-Signature"] == callback.headers["X-Svc-Signature"]
        False
        """
        header = next(name for name in self.headers if name.endswith("-Signature"))
        signature = self.headers[header]
        other = ("B" if signature.startswith("A") else "A") + signature[1:]
        return replace(self, headers={**self.headers, header: other})


def made(url: str, body: bytes, headers: Iterable[tuple[str, str]]) -> Callback:
    return Callback(url, body, {"Content-Type": "application/json", **dict(headers)})
