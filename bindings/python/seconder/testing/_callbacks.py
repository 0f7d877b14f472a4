"""Callbacks as an application's endpoint receives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Callback:
    """The request that the service sends to the application when a user responded (section 6)."""

    url: str
    """The callback URL of the sandbox's settings. It is signed."""
    body: bytes = field(repr=False)
    """The JSON body."""
    headers: Mapping[str, str] = field(repr=False)
    """The headers: the media type, the signature and its nonce."""
    method: str = "POST"
    """The method. It is signed too."""

    def forged(self) -> Callback:
        """Returns the same callback with an invalid signature: the application must respond with
        401.

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
    """Builds a callback with a JSON body."""
    return Callback(url, body, {"Content-Type": "application/json", **dict(headers)})
