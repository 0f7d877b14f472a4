# Written by tools/generate from bindings/python/opening.py.in and src/{open_options,app_settings}.rs.
"""``open(url)``: opens a service by its URL."""

from __future__ import annotations

from collections.abc import Callable

from seconder._frames import guarded
from seconder._opened import opened
from seconder.names import Names
from seconder.outcomes import Outcome
from seconder.records import CallRecord, Message, PhoneLine, SignedCallback
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    import seconder
else:
    from seconder._later import seconder

_Returned = Outcome | str | None
_LookedUp = PhoneLine | None


@guarded
def open(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float | None = None,
    names: Names | None = None,
    client: seconder.ClientOptions | None = None,
    engine: seconder.EngineOptions | None = None,
    deliver: Callable[[Message], _Returned] | None = None,
    deliver_timeout: float | None = None,
    post: Callable[[SignedCallback], _Returned] | None = None,
    lookup: Callable[[str], _LookedUp] | None = None,
    on_call: Callable[[CallRecord], object] | None = None,
) -> Service:
    """Opens a service. Nothing is read from the environment, and nothing is sent before the first
    call.

    A setting that has no effect with the URL is an :class:`seconder.InvalidArgument`, so that no
    program relies on it.

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
        names: The names that the service uses where the interface document says ``svc``. Default:
            for a remote service, the document's; for an engine, those stored in the database, and
            the document's in a new one. A database that was created with other names is rejected,
            because its clients depend on them.
        client: Further options for a remote service: certificates, a proxy, retries.
        engine: Further options for an engine in this process: the keyring, the callback URL, limits,
            texts, and the other settings of the application.
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
            (``"+15550100123"``), and returns a :class:`seconder.results.PhoneLine`, or None if the look-up
            failed; so does an exception, which is logged. It is called in the thread of the call, from
            several at once, and must return within seconds. How often is limited by ``lookup_day`` of
            ``limits``, and what it returns is used again for some days. Default: only what numbering
            plans say is known.
        on_call: A function that gets a :class:`seconder.results.CallRecord` of each call when it has ended,
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
        >>> engine = seconder.EngineOptions(application_name="Example")
        >>> with seconder.open("sandbox:", engine=engine) as service:
        ...     service.app_details().name
        'Example'
    """
    given = locals()
    return opened(given, may_await=False)
