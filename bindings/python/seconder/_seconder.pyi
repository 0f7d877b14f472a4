from collections.abc import Callable
from os import PathLike
from typing import Any, final

__all__ = [
    "CALLS",
    "Clock",
    "Service",
    "__version__",
    "answer_request",
    "call_of",
    "open",
    "open_sandbox",
    "share",
    "sign_callback",
    "totp_code",
    "verify_callback",
]

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
@final
class Clock:
    def __new__(cls, now: float) -> Clock: ...
    def now(self) -> float: ...
    def set(self, now: float) -> None: ...

def open_sandbox(
    url: str,
    *,
    clock: Clock,
    api_key: str,
    application_name: str,
    callback_url: str,
    token_length: int,
    deliver: Callable[[str, str, str, str, int], None],
    post: Callable[[str, bytes, list[tuple[str, str]]], None],
) -> Service: ...
def share(service: Service) -> Service: ...
def sign_callback(*, api_key: str, nonce: str, url: str, body: bytes) -> str: ...
def call_of(method: str, path: str) -> tuple[str, dict[str, Any]] | None: ...
def answer_request(
    service: Service, *, api_key: str, method: str, path: str, query: str, body: bytes
) -> tuple[int, float | None, str, bytes, Any]: ...
