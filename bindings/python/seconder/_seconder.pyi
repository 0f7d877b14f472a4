from collections.abc import Callable
from os import PathLike
from typing import Any, final

__all__ = ["CALLS", "Service", "__version__", "open", "totp_code", "verify_callback"]

__version__: str
CALLS: list[str]

@final
class Service:
    @property
    def closed(self) -> bool: ...
    def call(self, name: str, params: dict[str, Any]) -> Any: ...
    def close(self) -> None: ...

def open(
    url: str,
    *,
    api_key: str | None,
    timeout: float,
    ca_file: str | PathLike[str] | None,
    allow_loopback_http: bool,
    application_name: str | None,
    callback_url: str | None,
    deliver: Callable[[str, str, str, str, int], None] | None,
) -> Service: ...
def totp_code(uri: str, at: int) -> str: ...
def verify_callback(
    *,
    api_key: str,
    urls: list[str],
    method: str,
    body: bytes,
    query: str,
    signature: str,
    nonce: str,
    fresh: float | None,
    now: float,
    replay: object | None,
) -> Any: ...
