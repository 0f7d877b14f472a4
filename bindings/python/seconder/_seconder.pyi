"""The extension module of the package, written in Rust."""

from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, final

__all__ = [
    "ApprovalWait",
    "BODY_LIMIT",
    "CALLS",
    "CODES",
    "Canceller",
    "Clock",
    "QUESTIONS",
    "RoutedRequest",
    "ReceivedEvent",
    "SANDBOX_API_KEY",
    "SANDBOX_FAULTS",
    "SANDBOX_OPERATIONS",
    "SANDBOX_PATH",
    "SANDBOX_SECRETS",
    "Sandbox",
    "Service",
    "Totp",
    "__version__",
    "after_fork",
    "before_fork",
    "headers",
    "open",
    "query",
    "read_source",
    "sign",
    "signed_parameters",
    "verify_callback",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Names = tuple[str, str | None, str | None, str | None, str | None]
_Outcome = tuple[str, str | None, float | None]
_Reply = tuple[int, list[tuple[str, str]], bytes]

__version__: str
BODY_LIMIT: int
CALLS: list[str]
CODES: list[tuple[str, str, str]]
QUESTIONS: list[str]
SANDBOX_API_KEY: str
SANDBOX_FAULTS: list[str]
SANDBOX_OPERATIONS: list[tuple[str, str, list[str]]]
SANDBOX_PATH: str
SANDBOX_SECRETS: list[str]

def after_fork() -> None: ...
def before_fork() -> None: ...
def read_source(
    format: str, file: bytes, user: str | None, issuer: str | None, algorithm: str | None
) -> list[tuple[int, Any]]: ...
@final
class Canceller:
    def __new__(cls) -> Canceller: ...
    def cancel(self) -> None: ...
    def run(
        self, function: Callable[_P, _T], /, *args: _P.args, **options: _P.kwargs
    ) -> _T: ...

@final
class Clock:
    def __new__(cls, now: float) -> Clock: ...
    def now(self) -> float: ...
    def pass_until(self, end: float) -> None: ...
    def plan(self, moment: float, action: Callable[[], object]) -> None: ...
    def planned(self, end: float) -> float | None: ...

@final
class Service:
    @property
    def closed(self) -> bool: ...
    def poll_approval(
        self,
        wait: ApprovalWait,
        request_id: str | None = None,
        hook: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any: ...
    def call(
        self,
        name: str,
        params: dict[str, Any],
        request_id: str | None = None,
        hook: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any: ...
    def reopen(self, url: str, settings: dict[str, Any]) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def with_repeats(self, repeats: str) -> Service: ...
    def with_timeout(self, timeout: float) -> Service: ...

@final
class ReceivedEvent:
    @property
    def device(self) -> Any: ...
    @property
    def parameters(self) -> Any: ...
    @property
    def status(self) -> str: ...
    @property
    def user_id(self) -> int | None: ...
    @property
    def uuid(self) -> str: ...

@final
class Totp:
    def __new__(cls, secret: bytes, algorithm: str, digits: int, period: int) -> Totp: ...
    @staticmethod
    def from_uri(uri: str) -> Totp: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def digits(self) -> int: ...
    @property
    def period(self) -> int: ...
    @property
    def secret(self) -> bytes: ...
    def check(self, token: str, at: int, last_step: int | None) -> int: ...
    def code(self, at: int) -> str: ...
    def uri(self, issuer: str, label: str) -> str: ...

@final
class ApprovalWait:
    def __new__(cls, params: dict[str, Any], clock: Clock | None = None) -> ApprovalWait: ...

@final
class RoutedRequest:
    def respond(self, body: bytes | None, error: str) -> _Reply | None: ...

@final
class Sandbox:
    def __new__(
        cls,
        *,
        accept: str,
        now: float,
        names: _Names,
        api_key: str,
        application_name: str,
        callback_url: str,
        token_length: int,
        deliver: Callable[[str, str, str, str, str, str, int], _Outcome],
        post: Callable[[str, bytes, list[tuple[str, str]]], _Outcome],
    ) -> Sandbox: ...
    @property
    def clock(self) -> Clock: ...
    def calls(self) -> list[tuple[int, str, dict[str, Any], str, bool]]: ...
    def forget_phones(self) -> None: ...
    def keep_device(self, user_id: int, device_id: int, secret: str) -> None: ...
    def operate(self, name: str, params: dict[str, Any]) -> Any: ...
    def record(self, name: str, arguments: dict[str, Any], outcome: str) -> int: ...
    def route(
        self, *, method: str, target: str, headers: list[tuple[str, bytes]]
    ) -> tuple[RoutedRequest, None] | tuple[None, _Reply]: ...
    def service(self, has_real_waits: bool) -> Service: ...

def headers(names: _Names) -> tuple[str, str, str]: ...
def open(url: str, settings: dict[str, Any]) -> Service: ...
def query(body: bytes) -> str: ...
def sign(
    api_key: str, nonce: str, url: str, method: str, body: bytes, query: str
) -> str: ...
def signed_parameters(
    api_key: str, url: str, method: str, body: bytes, query: str, signature: str, nonce: str
) -> Any: ...
def verify_callback(
    *,
    api_key: str,
    url: str | Iterable[str],
    method: str,
    body: bytes,
    query: str,
    signature: str,
    nonce: str,
    names: _Names | None,
    fresh: float | None,
    now: float,
    replay: object | None,
) -> ReceivedEvent: ...
