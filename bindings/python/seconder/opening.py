"""``open(url)``: opens a service by its URL."""

from __future__ import annotations

from seconder import _seconder
from seconder._frames import guarded
from seconder._functions import carrier, checked, checked_limit, looker, poster
from seconder._hook import hook_of
from seconder.enums import CallbackMethod, Format, Generation, Repeats
from seconder.errors import InvalidArgument, SpoolWarning
from seconder.names import _given
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal

    from seconder.names import Names
    from seconder.outcomes import Outcome
    from seconder.records import CallRecord, Message, PhoneLine, SignedCallback

    _Returned = Outcome | str | None
    _LookedUp = PhoneLine | None


@guarded
def open(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float | None = None,
    repeats: Repeats | Literal["none", "questions", "all"] | None = None,
    ca_file: str | PathLike[str] | None = None,
    pins: Sequence[str] = (),
    client_certificate: tuple[str | PathLike[str], str | PathLike[str]] | None = None,
    proxy: str | None = None,
    name_servers: Sequence[str] = (),
    service_uid: int | None = None,
    allow_loopback_http: bool = False,
    format: Format | Literal["json", "xml"] | None = None,
    generation: Generation | Literal["current", "older"] | None = None,
    nested_as_json: bool = False,
    names: Names | None = None,
    must_exist: bool = False,
    keyring: str | PathLike[str] | None = None,
    application_name: str | None = None,
    callback_url: str | None = None,
    callback_method: CallbackMethod | Literal["post", "get"] | None = None,
    callback_ca_file: str | PathLike[str] | None = None,
    callback_private: bool | None = None,
    install_link: str | None = None,
    replies: Generation | Literal["current", "older"] | None = None,
    plan: str | None = None,
    white_label: bool | None = None,
    sms_enabled: bool | None = None,
    force_codes: bool | None = None,
    logo: str | None = None,
    token_length: int | None = None,
    authenticator_digits: int | None = None,
    authenticator_period: int | None = None,
    offline_days: int | None = None,
    limits: Mapping[str, int | Sequence[int] | Sequence[str]] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
    otp_domain: str | None = None,
    push_hosts: str | None = None,
    deliver: Callable[[Message], _Returned] | None = None,
    deliver_timeout: float | None = None,
    post: Callable[[SignedCallback], _Returned] | None = None,
    lookup: Callable[[str], _LookedUp] | None = None,
    on_call: Callable[[CallRecord], object] | None = None,
) -> Service:
    """Opens a service. Nothing is read from the environment, and nothing is sent before the first
    call. A setting that has no effect with the URL is an :class:`seconder.InvalidArgument`: those
    from ``timeout`` to ``nested_as_json`` are for a remote service (those from ``ca_file`` to
    ``name_servers`` and ``allow_loopback_http`` for ``https:`` alone, ``service_uid`` for ``unix:``
    alone), those from
    ``application_name`` on for an engine (``sqlite:``, ``postgres:`` and ``sandbox:``), and
    ``must_exist`` and ``keyring`` for ``sqlite:`` and ``postgres:``.

    Use one copy of SQLite per process on a database. The module has its own, so code in the same
    process must not open the database with :mod:`sqlite3` or another library: when such a copy
    closes the file, POSIX drops the locks that protect it. On Linux, the service keeps its log all
    the same; where that fails, and where the file is removed or replaced while it is open, every
    call raises :class:`seconder.StorageError`. Look at the database from another process instead,
    such as the program ``sqlite3``.

    Args:
        url: The backend: ``https://…`` is a remote service; ``unix:/path/of.sock`` a service on this
            machine, by its Unix socket; ``sqlite:/path/file.db`` an engine in this process;
            ``postgres://user@host/database`` one on a database that several processes and machines
            share (docs/scale.md has its parameters; ``keyring`` is required); ``sandbox:`` an engine
            in memory that accepts every token, for the tests of applications
            (``sandbox:?accept=0000000`` accepts only that one, and ``sandbox:?accept=right`` checks
            codes as ``sqlite:`` does). A sandbox that does not
            check codes has no waits and caps, and accepts ``0000`` for every phone number. With
            ``clear_every``, as in ``sandbox:?accept=0000000&clear_every=86400``, it is emptied
            every that many seconds, 1 to 31536000, when a call begins;
            :meth:`seconder.Service.clear_sandbox` empties it at once.
        api_key: The application's API key. Required for a service on the network; an engine
            generates one for the first application of a new database if none is given. A service on
            this machine (``unix:``) recognises the user of this process instead, and takes no key.
        timeout: How long a call to a remote service may take in all, in seconds: more than 0 and
            at most 3600. Default: 10.
        repeats: Which calls to a remote service are retried when it is rate limiting. Default: those
            that change nothing.
        ca_file: A file of certificates in PEM to trust instead of the system's.
        pins: Pinned public keys of a remote service, each as ``sha256/`` and the SHA-256 of the
            key in Base64; the service must present one of them. Without ``ca_file``, only they are
            trusted.
        client_certificate: Files in PEM: the certificate that this client presents to the service,
            with its chain, and its private key without a password.
        proxy: An HTTP proxy, as ``http://user:password@host:port``. It cannot read the traffic.
        name_servers: The name servers that resolve the host of the URL or the proxy, tried in this
            order, as IP addresses with or without a port: ``192.0.2.1``, ``[2001:db8::1]:53``.
            Default: those of ``/etc/resolv.conf``.
        service_uid: The number of the user who runs a service on this machine (``unix:``), as
            ``id -u NAME`` prints it. Before anything is sent, the user who listens on the socket is
            checked: root, the user of this process and this one are trusted, and everyone else is
            :class:`seconder.Unavailable`. Default: only the first two.
        allow_loopback_http: Allows ``http://`` to this machine itself. For tests: the key then
            travels in the clear.
        format: The format of a remote service's responses. Default: JSON.
        generation: The generation of the interface that a remote service speaks (section 9).
            Default: the current one.
        nested_as_json: Sends ``details``, ``hidden_details`` and ``data`` in a JSON body if they
            hold anything but texts, for remote services that are known to read JSON. Default: a
            form, which every service reads, and in which numbers and flags become text; None, empty
            lists and empty dicts are left out; and a name that is empty or has brackets is an
            :class:`seconder.InvalidArgument`.
        names: The names that the service uses instead of those with ``svc`` in the interface
            document. Default: for a remote service the document's; for an engine those in the
            database, and the document's in a new one. A database that was created with other names
            is rejected.
        must_exist: Whether the database of a ``sqlite:`` or ``postgres:`` URL must exist: one that is
            missing or has no tables is then a :class:`seconder.StorageError`. With it, a mistyped path is
            an error rather than a new database without users. Default: the file or the tables are
            created.
        keyring: The file with the keys that seal the secrets in the database of a ``sqlite:`` or
            ``postgres:`` URL. A database that was created with one is a
            :class:`seconder.StorageError` without it, or with another one. Default for ``sqlite:``: the
            file beside the database that is named like it with ``.keys`` at the end; it is created with
            a new database, readable by its owner only. With ``postgres:`` it is required: create it
            with ``seconder keyring create``, and copy it to each machine.
        application_name: The name in messages and authenticator apps. It has 1 to 64 bytes without
            colons and line feeds. Default: the name stored in the database; ``Seconder`` in a new
            one.
        callback_url: The URL to which callbacks with the responses to approval requests are posted
            (section 6). It is an https: URL, or an http: URL of this machine. An empty string
            removes the stored one. Default: the URL stored in the database; none in a new one.
        callback_method: The method of callbacks: post, with a JSON body, or get, with the
            parameters as the query of the URL. Default: the method stored in the database; post in
            a new one.
        callback_ca_file: The PEM file with the authorities to trust when callbacks are posted,
            instead of the system's. It may also be the application's own certificate. Every process
            that uses the database reads the file when it posts a callback. A ``post`` function
            decides itself whom to trust. An empty string removes the stored one. Default: the file
            stored in the database; none in a new one.
        callback_private: Allows callbacks to addresses that are not of the public Internet. These
            are addresses of private networks, and of this machine by a name other than localhost.
            Otherwise no callback is sent to such an address, whatever the name in the URL resolves
            to. A URL with localhost or a loopback address leads to this machine in any case, and
            nowhere else. A ``post`` function decides itself. Default: what is stored in the
            database; ``False`` in a new one.
        install_link: The link to the app that a new user receives by SMS (section 4.1). It is an
            https: URL of at most 2048 characters. An empty string removes the stored one. Default:
            the link stored in the database. A new one has none, and then no message is sent.
        replies: The generation of the bodies that a server replies with: current, or older for
            clients of 2012. It does not depend on the generation of the requests (section 9): older
            clients read ``success`` as text. Default: the one stored in the database; the current
            one in a new one.
        plan: The product that was booked, for the details of the application: 1 to 64 bytes.
            Default: the text stored in the database; ``embedded`` in a new one.
        white_label: Makes the details of the application say that it has an app of its own.
            Default: what is stored in the database; ``False`` in a new one.
        sms_enabled: Allows SMS. Without them, codes can be spoken in calls. Default: what is stored
            in the database; ``True`` in a new one.
        force_codes: Sends codes by SMS and calls also to users who have an app, unless a call sets
            ``force``. See section 4.2. Default: what is stored in the database; ``False`` in a new
            one.
        logo: The picture that approval requests show which have none of their own (section 4.12).
            It is an https: URL of at most 2048 characters. An empty string removes the stored one.
            Default: the URL stored in the database; none in a new one.
        token_length: The number of digits of codes by SMS and voice, 6 to 10. Default: the number
            stored in the database; 7 in a new one.
        authenticator_digits: The number of digits of the codes of authenticator apps that are
            enrolled from now on, 6 to 8. Apps that were enrolled before keep theirs. Default: the
            number stored in the database; 6 in a new one, which every app supports.
        authenticator_period: The number of seconds for which such an app shows a code, 1 to 3600.
            Default: the time stored in the database; 30 in a new one, which every app supports.
        offline_days: The number of days, 1 to 7, for which login machines may check the codes of
            authenticator apps offline. They do so while they cannot reach the service; 0 forbids
            it. Default: the number stored in the database; 0 in a new one.
        limits: Limits of the application by their names, such as ``{"number_day": 10, "countries": [1,
            44], "refuse": ["disposable"]}``. An empty list is all countries, or no type that is refused.
            Those that are not given stay as they are in the database. See the page on limits.
        texts: The application's own texts of messages, by language and kind, such as ``{"de": {"sms":
            "{{code}} ist Ihr Code."}}``. They replace those in the database, and ``{}`` removes them.
            Default: those in the database; where there is none, the text that is built in. See the page
            on texts.
        otp_domain: The domain of the page on which users enter codes, such as example.com. Each SMS
            with a code then ends with a line such as ``@example.com #123456``, by which browsers
            offer the code on pages of this domain, and on no others. An empty string removes the
            stored one. Default: the domain stored in the database; none in a new one.
        push_hosts: Further hosts of push services to which messages for phones are posted, beside
            those of the makers of browsers, such as ``push.example *.push.example``;
            ``127.0.0.1:8080`` for one on this machine.
        deliver: A function that delivers the SMS and voice calls of an engine. It returns None, the id
            that the provider gave to the message, or one of :mod:`seconder.outcomes`: after
            :class:`seconder.Retry` and :class:`seconder.Ambiguous`, the call that needed the code
            succeeds, and :meth:`seconder.Service.run_jobs`, which the application has to call, makes
            further attempts. An exception from it
            means that the message was not delivered, and is not to be attempted again: the logger ``seconder`` gets it with its
            traceback, and it is the ``__cause__`` of the :class:`seconder.Unavailable` of the call
            that needed the code. One whose text includes the code is replaced by one that does not.
            It may run in any thread that makes calls. One that may take longer than 30 s needs a
            ``deliver_timeout``, or :meth:`~seconder.Service.run_jobs` takes it for dead after a minute,
            and sends the message again. The
            service keeps a reference to it until it is closed, which the garbage collector cannot
            see: close a service that its own function refers to.
            The install message has an empty ``code``.
            Default for ``sqlite:``: a folder of text files beside the database, with the database's
            name and ``.spool`` in place of ``.db``. A file is removed after its code has expired. Nobody
            gets these messages, so the first time that a process opens a ``sqlite:`` service without
            ``deliver`` there is a :class:`seconder.SpoolWarning`. With ``postgres:``, there is no
            default: without ``deliver``, requesting a code fails. A ``sandbox:`` delivers nothing.
        deliver_timeout: How long ``deliver`` may take, in seconds: more than 0 and at most 3600.
            After that, the message counts as not delivered. A plain function cannot be ended, so
            with a limit it runs in a thread of its own, which is given up. Default: 15 for the async
            function of an :class:`seconder.AsyncService`, and no limit for a plain one.
        post: A function that posts the callbacks of an engine, under the same rules, except that a
            callback is posted again after an exception: only :class:`seconder.Permanent` ends the
            attempts. Default: HTTPS within 15 s, trusting ``callback_ca_file`` or else the system's
            roots; a status from 200 to 299 accepts the callback, and 410 ends the attempts.
        lookup: A function that looks a number up for an engine. It gets the number in E.164
            (``"+15550100123"``), and returns a :class:`seconder.PhoneLine`, or None if the look-up
            failed; so does an exception, which is logged. It is called in the thread of the call, from
            several at once, and must return within seconds. How often is limited by ``lookup_day`` of
            ``limits``, and what it returns is used again for some days. Default: only what numbering
            plans say is known.
        on_call: A function that gets a :class:`seconder.CallRecord` of each call when it has ended,
            also of one that failed, in the thread of the call. Its exceptions are logged, and change
            nothing. Calls that it makes itself have no record.

    Returns:
        The service, which is closed at the end of a ``with`` block.

    Raises:
        InvalidArgument: The URL or a setting is invalid, or a setting has no effect with this URL;
            ``parameter`` names it.
        StorageError: The database cannot be opened, or does not exist although it must; it is left
            unchanged.
        Unavailable: A file of certificates cannot be read, because the process has no descriptors
            or memory left.
        Unauthorized: The database has no application with that API key.

    Example:
        >>> with seconder.open("sandbox:", application_name="Example") as service:
        ...     service.app_details().name
        'Example'
    """
    given = locals()
    return _opened(given, may_await=False)


def _opened(given: dict[str, Any], *, may_await: bool) -> Service:
    """Opens a service with the arguments of ``open``."""
    url, scheme, settings, hook = _settings(given, may_await=may_await)
    service = Service(_seconder.open(url, settings), scheme)
    service._hook = hook
    # Settings hold keys, so they are kept where no traceback shows them.
    service._reopening = lambda: _settings(given, may_await=may_await)
    if scheme == "sqlite" and given["deliver"] is None:
        try:
            _warn_of_spool()
        except SpoolWarning:
            service.close()
            raise
    return service


def _settings(given: dict[str, Any], *, may_await: bool) -> tuple[Any, str, dict[str, Any], Any]:
    """The URL, its scheme, the settings as the native module takes them, and the hook."""
    settings = dict(given)
    url, names = settings.pop("url"), settings["names"]
    hook = hook_of(settings.pop("on_call"))
    deliver, post = settings["deliver"], settings["post"]
    limit = settings["deliver_timeout"] = checked_limit(settings["deliver_timeout"], deliver)
    if settings["limits"] is not None:
        settings["limits"] = _limits(settings["limits"])
    if settings["texts"] is not None:
        settings["texts"] = _texts(settings["texts"])
    if names is not None:
        settings["names"] = _given(names)
    if deliver is not None:
        settings["deliver"] = carrier(checked("deliver", deliver, may_await=may_await), limit)
    if post is not None:
        settings["post"] = poster(checked("post", post, may_await=may_await))
    if (lookup := settings["lookup"]) is not None:
        settings["lookup"] = looker(checked("lookup", lookup, may_await=may_await))
    return url, str(url).partition(":")[0].lower(), settings, hook


def _limits(given: object) -> str:
    """Limits as the native module takes them."""
    if not hasattr(given, "items"):
        raise InvalidArgument("limits must be a mapping of names to numbers", parameter="limits")

    def text(name: str, value: object) -> str:
        if isinstance(value, (list, tuple)):
            return "+".join(map(str, value)) or ("none" if name == "refuse" else "all")
        return str(value)

    return " ".join(f"{name}={text(name, value)}" for name, value in given.items())


def _texts(given: object) -> str:
    """Texts as the native module takes them."""
    import json

    message = "texts must be a mapping of languages to mappings of kinds to texts"
    if not hasattr(given, "items"):
        raise InvalidArgument(message, parameter="texts")
    plain = {
        language: dict(texts) if hasattr(texts, "items") else texts
        for language, texts in given.items()
    }
    try:
        return json.dumps(plain)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(message, parameter="texts") from error


_warned = False


def _warn_of_spool() -> None:
    """Warns once in each process."""
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    message = (
        "this sqlite: service has no deliver function: nobody gets its messages, which are written "
        "to a folder beside the database"
    )
    # The caller of open(), past the frames of this package.
    warnings.warn(message, SpoolWarning, stacklevel=5)
