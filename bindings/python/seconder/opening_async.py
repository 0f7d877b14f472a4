# Written by tools/generate from bindings/python/opening_async.py.in and src/{open_options,app_settings}.rs.
"""``open_async(url)``: opens a service for programs that use :mod:`asyncio`."""

from __future__ import annotations

from seconder._awaited import Opening
from seconder._frames import guarded
from seconder.aio import opened_with
from seconder.enums import CallbackMethod, Format, Generation, Repeats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from os import PathLike
    from typing import Literal

    from seconder.names import Names
    from seconder.outcomes import Outcome
    from seconder.records import CallRecord, Message, PhoneLine, SignedCallback

    _Returned = Outcome | str | Awaitable[Outcome | str | None] | None
    _LookedUp = PhoneLine | None | Awaitable[PhoneLine | None]


@guarded
def open_async(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float | None = None,
    repeats: Repeats | Literal["none", "questions", "all"] | None = None,
    ca_file: str | PathLike[str] | None = None,
    pins: Sequence[str] = (),
    client_certificate: str | PathLike[str] | None = None,
    client_key: str | PathLike[str] | None = None,
    proxy: str | None = None,
    name_servers: Sequence[str] = (),
    allow_loopback_http: bool = False,
    service_uid: int | None = None,
    format: Format | Literal["json", "xml"] | None = None,
    generation: Generation | Literal["current", "older"] | None = None,
    nested_as_json: bool = False,
    names: Names | None = None,
    must_exist: bool = False,
    keyring: str | PathLike[str] | None = None,
    application_name: str | None = None,
    callback_url: str | None = None,
    callback_method: CallbackMethod | Literal["post", "get"] | None = None,
    callback_private: bool | None = None,
    callback_ca_file: str | PathLike[str] | None = None,
    replies: Generation | Literal["current", "older"] | None = None,
    install_link: str | None = None,
    offline_days: int | None = None,
    limits: Mapping[str, int | Sequence[int] | Sequence[str]] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
    otp_domain: str | None = None,
    plan: str | None = None,
    white_label: bool | None = None,
    sms_enabled: bool | None = None,
    force_codes: bool | None = None,
    logo: str | None = None,
    approval_seconds: int | None = None,
    token_length: int | None = None,
    authenticator_digits: int | None = None,
    authenticator_period: int | None = None,
    push_hosts: str | None = None,
    deliver: Callable[[Message], _Returned] | None = None,
    deliver_timeout: float | None = None,
    post: Callable[[SignedCallback], _Returned] | None = None,
    lookup: Callable[[str], _LookedUp] | None = None,
    on_call: Callable[[CallRecord], object] | None = None,
    threads: int = 16,
) -> Opening:
    """Opens a service for programs that use :mod:`asyncio`. The settings are those of
    :func:`seconder.open`.

    ``deliver``, ``post`` and ``lookup`` may be async functions here, which run on the event loop of the call that
    needs them. Plain functions run in the thread of the call. So does ``on_call``, which is always a
    plain function.

    Args:
        threads: How many calls can be in progress at the same time, 1 to 1024.

    Returns:
        A :class:`seconder.Opening`. ``await`` on it returns the service, and ``async with`` also
        closes it at the end of the block.

    Raises:
        InvalidArgument: The URL or a setting is invalid, or a setting has no effect with this URL;
            ``parameter`` names it.
        StorageError: The database cannot be opened; it is left unchanged.
        Unauthorized: The database has no application with that API key.

    Example:
        >>> asyncio.run(seconder.open_async("sandbox:"))
        <seconder.AsyncService on sandbox:>
    """
    given = locals()
    threads = given.pop("threads")
    return Opening(lambda: opened_with(given, threads))
