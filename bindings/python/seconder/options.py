# Written by tools/generate from bindings/python/options.py.in and src/{open_options,app_settings}.rs.
"""Options of :func:`seconder.open` that are for a client or for an engine alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from seconder._value import Value, field
from seconder.enums import CallbackMethod, Format, Generation, Repeats

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing
else:
    from seconder._later import typing


class ClientOptions(Value):
    """The options of a client of a remote service, for ``client`` of :func:`seconder.open`. They are for
    ``https:`` (and ``http:`` to this machine) and ``unix:``. Those that begin with "Network" are for
    the former alone, those with "Network and engine" also for an engine, and those with "Socket" for
    the latter.

    They are checked when a service is opened.

    Args:
        operator_token: Network: the token of an operator, in place of an API key. The URL is then
            the address at which the service listens for operators, and the role of the operator
            decides which operations and calls are permitted.
        repeats: The calls that are retried if the service asks to wait and the wait fits into the
            time limit. Default: those that change nothing.
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
        proxy: Network and engine: a proxy for the connections, as ``http://host:port`` or
            ``http://user:password@host:port``. Special characters are written as ``%XX``.
            Connections are tunnelled with CONNECT, so the proxy sees only encrypted bytes; it also
            resolves the service's name. An engine sends its callbacks and push messages to other
            machines through it, but resolves their hosts itself, because it checks the addresses.
            Default: no proxy. The environment is never consulted.
        name_servers: Network and engine: the name servers that resolve the host of the URL, or of
            the proxy, in place of those in /etc/resolv.conf. Only they and /etc/hosts are used, not
            LDAP, multicast DNS and other sources in nsswitch.conf. An engine resolves the hosts of
            callbacks and push messages with them, and its database server. They are queried in this
            order. Each is an IP address, with a port if it is not 53: ``192.0.2.1``,
            ``192.0.2.1:5353``, ``[2001:db8::1]:53``. The word ``system`` alone has the system's
            resolver used, with every source in nsswitch.conf: on another thread, which goes on
            after the time-out if the resolver does.
        allow_loopback_http: Network: allows ``http://`` URLs of this machine. For tests: the API
            key is then sent in the clear.
        service_uid: Socket: the number of the user who runs the service, as ``id -u NAME`` prints
            it. Before anything is sent, the user who listens on the socket is checked: root, the
            user of this process and this one are trusted, and everyone else is
            :class:`seconder.Unavailable`. Default: only the first two.
        format: The format of responses: json or xml. Default: json.
        generation: The generation of the interface that is used (section 9): current or older.
            Default: the current one.
        nested_as_json: Sends ``details``, ``hidden_details`` and ``data`` in a JSON body if they
            hold anything but texts. It is for services that are known to read JSON. Default: a
            form, which every service reads, and in which numbers and flags become text; None, empty
            lists and empty dicts are left out; and a name that is empty or has brackets is
            :class:`seconder.InvalidArgument`.

    Example:
        >>> client = seconder.ClientOptions(ca_file="authorities.pem", repeats="all")
        >>> client.repeats
        'all'
    """

    operator_token: str | None = field(default=None, secret=True, kw_only=True)
    repeats: Repeats | typing.Literal["none", "questions", "all"] | None = field(
        default=None, kw_only=True
    )
    ca_file: str | PathLike[str] | None = field(default=None, kw_only=True)
    pins: Sequence[str] = field(default=(), hash=False, kw_only=True)
    client_certificate: str | PathLike[str] | None = field(default=None, kw_only=True)
    client_key: str | PathLike[str] | None = field(default=None, kw_only=True)
    proxy: str | None = field(default=None, secret=True, kw_only=True)
    name_servers: Sequence[str] = field(default=(), hash=False, kw_only=True)
    allow_loopback_http: bool = field(default=False, kw_only=True)
    service_uid: int | None = field(default=None, kw_only=True)
    format: Format | typing.Literal["json", "xml"] | None = field(default=None, kw_only=True)
    generation: Generation | typing.Literal["current", "older"] | None = field(
        default=None, kw_only=True
    )
    nested_as_json: bool = field(default=False, kw_only=True)


class EngineOptions(Value):
    """The options of an engine in this process, for ``engine`` of :func:`seconder.open`. They are for
    ``sqlite:``, ``postgres:`` and ``sandbox:``.

    They are checked when a service is opened.

    Args:
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
        application_name: The name in messages and authenticator apps. It has 1 to 64 bytes without
            colons and line feeds. Default: the name stored in the database; ``Seconder`` in a new
            one.
        callback_url: The URL to which callbacks with the responses to approval requests are posted
            (section 6). It is an https: URL, or an http: URL of this machine. An empty string
            removes the stored one. Default: the URL stored in the database; none in a new one.
        callback_method: The method of callbacks: post, with a JSON body, or get, with the
            parameters as the query of the URL. Default: the method stored in the database; post in
            a new one.
        callback_private: Allows callbacks to addresses that are not of the public Internet. These
            are addresses of private networks, and of this machine by a name other than localhost.
            Otherwise no callback is sent to such an address, whatever the name in the URL resolves
            to. A URL with localhost or a loopback address leads to this machine in any case, and
            nowhere else. A ``post`` function decides itself. Default: what is stored in the
            database; ``False`` in a new one.
        callback_ca_file: The PEM file with the authorities to trust when callbacks are posted,
            instead of the system's. It may also be the application's own certificate. Every process
            that uses the database reads the file when it posts a callback. A ``post`` function
            decides itself whom to trust. An empty string removes the stored one. Default: the file
            stored in the database; none in a new one.
        replies: The generation of the bodies that a server replies with: current, or older for
            clients of 2012. It does not depend on the generation of the requests (section 9): older
            clients read ``success`` as text. Default: the one stored in the database; the current
            one in a new one.
        install_link: The link to the app that a new user receives by SMS (section 4.1). It is an
            https: URL of at most 2048 characters. An empty string removes the stored one. Default:
            the link stored in the database. A new one has none, and then no message is sent.
        offline_days: The number of days, 1 to 7, for which login machines may check the codes of
            authenticator apps offline. They do so while they cannot reach the service; 0 forbids
            it. Default: the number stored in the database; 0 in a new one.
        limits: Limits of the application by their names, such as ``{"number_day": 10, "countries":
            [1, 44], "refuse": ["disposable"]}``. An empty list is all countries, or no type that is
            refused. Those that are not given stay as they are in the database. See the page on
            limits.
        texts: The application's own texts of messages, by language and kind, such as ``{"de":
            {"sms": "{{code}} ist Ihr Code."}}``. They replace those in the database, and ``{}``
            removes them. Default: those in the database; where there is none, the text that is
            built in. See the page on texts.
        otp_domain: The domain of the page on which users enter codes, such as example.com. Each SMS
            with a code then ends with a line such as ``@example.com #123456``, by which browsers
            offer the code on pages of this domain, and on no others. An empty string removes the
            stored one. Default: the domain stored in the database; none in a new one.
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
        approval_seconds: The number of seconds for which approval requests remain open that do not
            set it, 10 to 86400. See ``seconds_to_expire`` in section 4.12. Default: the number
            stored in the database; 86400 in a new one.
        token_length: The number of digits of codes by SMS and voice, 6 to 10. Default: the number
            stored in the database; 7 in a new one.
        authenticator_digits: The number of digits of the codes of authenticator apps that are
            enrolled from now on, 6 to 8. Apps that were enrolled before keep theirs. Default: the
            number stored in the database; 6 in a new one, which every app supports.
        authenticator_period: The number of seconds for which such an app shows a code, 1 to 3600.
            Default: the time stored in the database; 30 in a new one, which every app supports.
        push_hosts: Further hosts of push services to which messages for phones are posted. They are
            in addition to the push services of browser vendors: ``push.example`` and
            ``*.push.example``, separated by spaces; ``127.0.0.1:8080`` for one on this machine.
            Default: none.

    Example:
        >>> engine = seconder.EngineOptions(application_name="Shop", limits={"number_day": 10})
        >>> with seconder.open("sandbox:", engine=engine) as service:
        ...     service.app_details().name
        'Shop'
    """

    must_exist: bool = field(default=False, kw_only=True)
    keyring: str | PathLike[str] | None = field(default=None, kw_only=True)
    application_name: str | None = field(default=None, kw_only=True)
    callback_url: str | None = field(default=None, kw_only=True)
    callback_method: CallbackMethod | typing.Literal["post", "get"] | None = field(
        default=None, kw_only=True
    )
    callback_private: bool | None = field(default=None, kw_only=True)
    callback_ca_file: str | PathLike[str] | None = field(default=None, kw_only=True)
    replies: Generation | typing.Literal["current", "older"] | None = field(
        default=None, kw_only=True
    )
    install_link: str | None = field(default=None, kw_only=True)
    offline_days: int | None = field(default=None, kw_only=True)
    limits: Mapping[str, int | Sequence[int] | Sequence[str]] | None = field(
        default=None, hash=False, kw_only=True
    )
    texts: Mapping[str, Mapping[str, str]] | None = field(default=None, hash=False, kw_only=True)
    otp_domain: str | None = field(default=None, kw_only=True)
    plan: str | None = field(default=None, kw_only=True)
    white_label: bool | None = field(default=None, kw_only=True)
    sms_enabled: bool | None = field(default=None, kw_only=True)
    force_codes: bool | None = field(default=None, kw_only=True)
    logo: str | None = field(default=None, kw_only=True)
    approval_seconds: int | None = field(default=None, kw_only=True)
    token_length: int | None = field(default=None, kw_only=True)
    authenticator_digits: int | None = field(default=None, kw_only=True)
    authenticator_period: int | None = field(default=None, kw_only=True)
    push_hosts: str | None = field(default=None, kw_only=True)
