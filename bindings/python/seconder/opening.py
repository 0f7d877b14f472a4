"""``open(url)``: who answers the calls."""

from __future__ import annotations

from seconder import _seconder
from seconder.enums import Channel, Format, Generation, Repeats
from seconder.errors import InvalidArgument
from seconder.names import Names, _given
from seconder.results import Message, SignedCallback, _moment
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any, Literal, TypeVar

    _F = TypeVar("_F", bound=Callable[..., object])


def open(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float = 10.0,
    repeats: Repeats | Literal["none", "questions", "all"] = Repeats.QUESTIONS,
    ca_file: str | PathLike[str] | None = None,
    pins: Sequence[str] = (),
    client_certificate: tuple[str | PathLike[str], str | PathLike[str]] | None = None,
    proxy: str | None = None,
    name_servers: Sequence[str] = (),
    allow_loopback_http: bool = False,
    format: Format | Literal["json", "xml"] = Format.JSON,
    generation: Generation | Literal["current", "older"] = Generation.CURRENT,
    names: Names | None = None,
    application_name: str | None = None,
    callback_url: str | None = None,
    token_length: int | None = None,
    authenticator_digits: int = 6,
    authenticator_period: int = 30,
    deliver: Callable[[Message], object] | None = None,
    post: Callable[[SignedCallback], object] | None = None,
) -> Service:
    """Opens a service. Nothing is read from the environment, and nothing is sent before the first
    call. A setting that the URL has no use for is not looked at.

    Args:
        url: Who answers: ``https://…`` is a remote service; ``sqlite:/path/file.db`` an engine
            in this process; ``sandbox:`` one that forgets and accepts every token, for the tests
            of applications (``sandbox:?accept=0000000`` accepts that one alone, and
            ``sandbox:?accept=right`` checks codes as ``sqlite:`` does).
        api_key: The application's API key. A remote service needs it; an engine makes one for
            the first application of a new database when none is given.
        timeout: How long a call to a remote service may take from its first step to its last,
            in seconds: more than 0 and at most 3600.
        repeats: Which calls to a remote service are repeated when it says "wait".
        ca_file: A file of certificates in PEM to trust in place of the system's.
        pins: Keys by which a remote service is known, as ``sha256/`` and the SHA-256 of the key
            in Base64; one of them must be shown. Without ``ca_file`` they are all that is trusted.
        client_certificate: Files in PEM: the certificate that this client shows to the service,
            with those that lead to its authority, and its private key without a password.
        proxy: A proxy to go through, as ``http://user:password@host:port``. It sees nothing of
            what is said.
        name_servers: Whom to ask where the host of the URL or the proxy is, in this order, as
            IP addresses with a port or without: ``192.0.2.1``, ``[2001:db8::1]:53``. Default: those
            of ``/etc/resolv.conf``.
        allow_loopback_http: Allows ``http://`` to this machine itself. For tests: the key then
            travels in the clear.
        format: The format that a remote service is asked for.
        generation: The generation of the interface that it is spoken to in (section 9).
        names: What the service calls what the interface document calls ``svc``, where it is
            something else.
        application_name: The name in messages and authenticator apps, for an engine. Default:
            what the database holds, and ``Seconder`` in a new one.
        callback_url: Where an engine posts the answers to approval requests (section 6): an
            ``https:`` URL, or an ``http:`` one of this machine. Default: what the database holds,
            and none in a new one.
        token_length: How many digits an engine's codes by SMS and voice have, 6 to 10. Default: as
            the database has it, and 7 in a new one.
        authenticator_digits: How many digits the codes of authenticator apps have that an engine
            enrols from now on, 6 to 8.
        authenticator_period: How long such an app shows a code, in seconds, 1 to 3600.
        deliver: A function that carries the SMS and voice calls of an engine. An exception in it
            means that the message was not delivered. It may run in any thread that makes calls. The
            service holds it until it is closed, unseen by the garbage collector: close a service
            that its own function holds.
            Default: a folder of text files beside the database, named as the database with
            ``.spool`` for ``.db``.
        post: A function that posts the callbacks of an engine, likewise. Default: HTTPS, within
            15 s, to the system's trusted roots.

    Returns:
        The service, which closes itself at the end of a ``with``.

    Raises:
        InvalidArgument: The URL or a setting cannot be right; ``parameter`` names it.
        StorageError: The database cannot be opened; it is left as it was.
        Unauthorized: The database has no application of that API key.

    Example:
        >>> with seconder.open("sandbox:", application_name="Example") as service:
        ...     service.app_details().name
        'Example'
    """
    settings = {
        "api_key": api_key,
        "timeout": timeout,
        "repeats": repeats,
        "ca_file": ca_file,
        "pins": pins,
        "client_certificate": client_certificate,
        "proxy": proxy,
        "name_servers": name_servers,
        "allow_loopback_http": allow_loopback_http,
        "format": format,
        "generation": generation,
        "names": _given(Names() if names is None else names),
        "application_name": application_name,
        "callback_url": callback_url,
        "token_length": token_length,
        "authenticator_digits": authenticator_digits,
        "authenticator_period": authenticator_period,
        "deliver": None if deliver is None else _carrier(_function("deliver", deliver)),
        "post": None if post is None else _poster(_function("post", post)),
    }
    return Service(_seconder.open(url, settings), url.partition(":")[0])


def _function(name: str, given: _F) -> _F:
    """Refuses what could carry nothing, before the first message is lost."""
    if not callable(given):
        raise InvalidArgument(f"{name} must be a function", parameter=name)
    return given


def _carrier(
    deliver: Callable[[Message], object],
) -> Callable[[str, str, str, str, int], None]:
    def carry(to: str, via: str, text: str, code: str, expires_at: int) -> None:
        dies = _moment(expires_at)
        if dies is None:
            raise ValueError("the code dies beyond the last year that Python knows")
        message = Message(to=to, via=Channel(via), text=text, code=code, expires_at=dies)
        _awaited_by_nobody("deliver", deliver(message))

    return carry


def _poster(
    post: Callable[[SignedCallback], object],
) -> Callable[[str, bytes, list[tuple[str, str]]], None]:
    def send(url: str, body: bytes, headers: list[tuple[str, str]]) -> None:
        _awaited_by_nobody("post", post(SignedCallback(url=url, body=body, headers=dict(headers))))

    return send


def _awaited_by_nobody(name: str, done: Any) -> None:
    """Refuses a function whose work would be lost without a word."""
    if hasattr(done, "__await__"):
        if hasattr(done, "close"):
            done.close()
        raise TypeError(f"{name} must not be an async function")
