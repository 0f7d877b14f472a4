# Written by tools/generate from bindings/python/opening.py.in and src/{open_options,app_settings}.rs.
"""``open(url)``: opens a service by its URL."""

from __future__ import annotations

from seconder._frames import guarded
from seconder._opened import opened
from seconder.enums import CallbackMethod, Format, Generation, Repeats
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Literal

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
) -> Service:
    """Opens a service. Nothing is read from the environment, and nothing is sent before the first
    call.

    A setting says which URLs it is for: "Remote service" is ``https:`` (and ``http:`` to this machine)
    and ``unix:``, "Network" the former alone, "Socket" the latter alone, "Engine" is ``sqlite:``,
    ``postgres:`` and ``sandbox:``. One that has no effect with the URL is an
    :class:`seconder.InvalidArgument`, so that no program relies on it.

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
        api_key: The application's API key. A service on the network requires it; an engine
            generates one for the first application of a new database if none is given. A service on
            this machine recognises the user of this process instead, and takes no key.
        timeout: Remote service: the total time that a call may take. That is name resolution, the
            connection, the TLS handshake, the request, the response, and all waits between retries.
            More than 0 and at most an hour. In seconds. Default: 10 seconds.
        repeats: Remote service: the calls that are retried if the service asks to wait and the wait
            fits into the time limit. Default: those that change nothing.
        ca_file: Network: a PEM file of certificates to trust instead of the system's. These are of
            authorities, or the service's own if it is self-signed. Without a file or a pin, the
            system's authorities are trusted.
        pins: Network: pinned public keys, each as ``sha256/`` and the SHA-256 of the key
            (SubjectPublicKeyInfo) in Base64. The service must present one of them. Without
            ``ca_file``, only they are trusted; with it, both must match.
        client_certificate: Network: a PEM file with the certificate that this client presents. It
            is followed by the intermediate certificates up to an authority that the service trusts.
            It requires ``client_key``. Default: no certificate.
        client_key: Network: a PEM file with the private key of ``client_certificate``, not
            encrypted with a password.
        proxy: Network: a proxy for the connections, as ``http://host:port`` or
            ``http://user:password@host:port``. Special characters are written as ``%XX``.
            Connections are tunnelled with CONNECT, so the proxy sees only encrypted bytes; it also
            resolves the service's name. Default: no proxy. The environment is never consulted.
        name_servers: Network: the name servers that resolve the host of the URL, or of the proxy,
            in place of those in /etc/resolv.conf. They are queried in this order. Each is an IP
            address, with a port if it is not 53: ``192.0.2.1``, ``192.0.2.1:5353``,
            ``[2001:db8::1]:53``.
        allow_loopback_http: Network: allows ``http://`` URLs of this machine. For tests: the API
            key is then sent in the clear.
        service_uid: Socket: the number of the user who runs the service, as ``id -u NAME`` prints
            it. Before anything is sent, the user who listens on the socket is checked: root, the
            user of this process and this one are trusted, and everyone else is
            :class:`seconder.Unavailable`. Default: only the first two.
        format: Remote service: the format of responses: json or xml. Default: json.
        generation: Remote service: the generation of the interface that is used (section 9):
            current or older. Default: the current one.
        nested_as_json: Remote service: sends ``details``, ``hidden_details`` and ``data`` in a JSON
            body if they hold anything but texts. It is for services that are known to read JSON.
            Default: a form, which every service reads, and in which numbers and flags become text;
            None, empty lists and empty dicts are left out; and a name that is empty or has brackets
            is :class:`seconder.InvalidArgument`.
        names: The names that the service uses where the interface document says ``svc``. Default:
            for a remote service, the document's; for an engine, those stored in the database, and
            the document's in a new one. A database that was created with other names is rejected,
            because its clients depend on them.
        must_exist: ``sqlite:`` and ``postgres:``: requires that the database exists: a file that is
            missing, and a database without tables, is :class:`seconder.StorageError`. With it, a
            mistyped path is an error rather than a new database without users. Default: the file or
            the tables are created.
        keyring: ``sqlite:`` and ``postgres:``: the file with the keys that seal the secrets in the
            database. In a copied database, no secret, code or API key can be used without it. A
            database that was created with one is :class:`seconder.StorageError` without it, or with
            another one. Default for ``sqlite:``: the file next to the database that is named like
            it with ``.keys`` at the end; it is created with a new database, readable by its owner
            only. With ``postgres:`` it is required: ``seconder keyring create`` makes the file, and
            each machine has a copy of it.
        application_name: Engine: the name in messages and authenticator apps. It has 1 to 64 bytes
            without colons and line feeds. Default: the name stored in the database; ``Seconder`` in
            a new one.
        callback_url: Engine: the URL to which callbacks with the responses to approval requests are
            posted (section 6). It is an https: URL, or an http: URL of this machine. An empty
            string removes the stored one. Default: the URL stored in the database; none in a new
            one.
        callback_method: Engine: the method of callbacks: post, with a JSON body, or get, with the
            parameters as the query of the URL. Default: the method stored in the database; post in
            a new one.
        callback_private: Engine: allows callbacks to addresses that are not of the public Internet.
            These are addresses of private networks, and of this machine by a name other than
            localhost. Otherwise no callback is sent to such an address, whatever the name in the
            URL resolves to. A URL with localhost or a loopback address leads to this machine in any
            case, and nowhere else. A ``post`` function decides itself. Default: what is stored in
            the database; ``False`` in a new one.
        callback_ca_file: Engine: the PEM file with the authorities to trust when callbacks are
            posted, instead of the system's. It may also be the application's own certificate. Every
            process that uses the database reads the file when it posts a callback. A ``post``
            function decides itself whom to trust. An empty string removes the stored one. Default:
            the file stored in the database; none in a new one.
        replies: Engine: the generation of the bodies that a server replies with: current, or older
            for clients of 2012. It does not depend on the generation of the requests (section 9):
            older clients read ``success`` as text. Default: the one stored in the database; the
            current one in a new one.
        install_link: Engine: the link to the app that a new user receives by SMS (section 4.1). It
            is an https: URL of at most 2048 characters. An empty string removes the stored one.
            Default: the link stored in the database. A new one has none, and then no message is
            sent.
        offline_days: Engine: the number of days, 1 to 7, for which login machines may check the
            codes of authenticator apps offline. They do so while they cannot reach the service; 0
            forbids it. Default: the number stored in the database; 0 in a new one.
        limits: Engine: limits of the application by their names, such as ``{"number_day": 10,
            "countries": [1, 44], "refuse": ["disposable"]}``. An empty list is all countries, or no
            type that is refused. Those that are not given stay as they are in the database. See the
            page on limits.
        texts: Engine: the application's own texts of messages, by language and kind, such as
            ``{"de": {"sms": "{{code}} ist Ihr Code."}}``. They replace those in the database, and
            ``{}`` removes them. Default: those in the database; where there is none, the text that
            is built in. See the page on texts.
        otp_domain: Engine: the domain of the page on which users enter codes, such as example.com.
            Each SMS with a code then ends with a line such as ``@example.com #123456``, by which
            browsers offer the code on pages of this domain, and on no others. An empty string
            removes the stored one. Default: the domain stored in the database; none in a new one.
        plan: Engine: the product that was booked, for the details of the application: 1 to 64
            bytes. Default: the text stored in the database; ``embedded`` in a new one.
        white_label: Engine: makes the details of the application say that it has an app of its own.
            Default: what is stored in the database; ``False`` in a new one.
        sms_enabled: Engine: allows SMS. Without them, codes can be spoken in calls. Default: what
            is stored in the database; ``True`` in a new one.
        force_codes: Engine: sends codes by SMS and calls also to users who have an app, unless a
            call sets ``force``. See section 4.2. Default: what is stored in the database; ``False``
            in a new one.
        logo: Engine: the picture that approval requests show which have none of their own (section
            4.12). It is an https: URL of at most 2048 characters. An empty string removes the
            stored one. Default: the URL stored in the database; none in a new one.
        approval_seconds: Engine: the number of seconds for which approval requests remain open that
            do not set it, 10 to 86400. See ``seconds_to_expire`` in section 4.12. Default: the
            number stored in the database; 86400 in a new one.
        token_length: Engine: the number of digits of codes by SMS and voice, 6 to 10. Default: the
            number stored in the database; 7 in a new one.
        authenticator_digits: Engine: the number of digits of the codes of authenticator apps that
            are enrolled from now on, 6 to 8. Apps that were enrolled before keep theirs. Default:
            the number stored in the database; 6 in a new one, which every app supports.
        authenticator_period: Engine: the number of seconds for which such an app shows a code, 1 to
            3600. Default: the time stored in the database; 30 in a new one, which every app
            supports.
        push_hosts: Engine: further hosts of push services to which messages for phones are posted.
            They are in addition to the push services of browser vendors: ``push.example`` and
            ``*.push.example``, separated by spaces; ``127.0.0.1:8080`` for one on this machine.
            Default: none.
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
    return opened(given, may_await=False)
