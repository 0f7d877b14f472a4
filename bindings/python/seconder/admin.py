"""The calls of an operator, as ``service.admin``."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath

from seconder._frames import guarded_class
from seconder.calls import AdminCalls
from seconder.errors import InvalidArgument
from seconder.records import AuditPage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    import typing
else:
    from seconder._later import datetime, typing


@guarded_class
class Admin(AdminCalls):
    """The calls of an operator; :attr:`seconder.Service.admin` makes them.

    Example:
        >>> service.admin.app_stats().total_users > 0
        True
    """

    __slots__ = ()

    def operate(self, operation: str, /, **parameters: typing.Any) -> dict[str, typing.Any]:
        """Carries out an operation of an operator, such as ``jobs.list``, ``route.set`` or
        ``limits.set``: with an engine in this process, or on a service that was opened with
        ``operator_token``.

        The operations, with their parameters and replies, are listed in docs/administration.md.

        Args:
            operation: The name of the operation.
            parameters: Its parameters, by their names. One that is ``None`` counts as absent.

        Returns:
            The reply.

        Raises:
            InvalidArgument: No operation has that name, or no parameter of it has such a name or
                value: the message lists those that there are. Or the service is a remote one that
                was opened without a token.
            Rejected: The token is not accepted (status 401), or does not permit it (403).
            StorageError: The database cannot be read or written.

        Example:
            >>> with seconder.open("sandbox:") as own:
            ...     own.admin.operate("limits.set", limits="number_day=10")["number_day"]
            ...     own.admin.operate("jobs.list", state="failed")
            10
            {'entries': [], 'next': None}
        """
        reply: dict[str, typing.Any] = self._call("operate", operation=operation, parameters=parameters)
        return reply

    def audit(
        self,
        *,
        user_id: int | None = None,
        since: datetime.datetime | float | None = None,
        until: datetime.datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        after: str | None = None,
        most: int = 100,
    ) -> AuditPage:
        """Reads a page of what the engine has decided, the latest first. Only an engine in this process
        supports it.

        Each page reads a limited number of rows, so it may hold fewer decisions than ``most``, also
        none, although more follow. :meth:`audit_pages` reads them all. They are kept for the days of
        the limit ``audit_days``, also those about a user who was deleted.

        Args:
            user_id: Those about this user.
            since: Those from this time on: an aware datetime, or Unix seconds.
            until: Those before this time.
            verdict: Those with this verdict, such as ``wrong``, or with one of several: ``wrong,locked``.
            call: Those of this call, such as ``verify``.
            user_ip: Those of calls that had this address of the user.
            operator_name: Those that the operator of this name made.
            after: What the page before has as :attr:`seconder.results.AuditPage.next`.
            most: The most decisions on the page, 1 to 1000.

        Returns:
            The decisions, and how to read on.

        Raises:
            InvalidArgument: ``most`` is out of range, there is no such verdict, a datetime is not aware, no
                page has returned ``after``, or the service is a remote one.
            StorageError: The database cannot be read.

        Example:
            >>> with seconder.open("sandbox:?accept=right") as own:
            ...     user = own.create_user("ada@example.com", "555-010-0123", 1)
            ...     for entry in own.admin.audit(user_id=user.user_id).entries:
            ...         print(entry.call, entry.verdict, entry.number)
            create_user created +1-XXX-XXX-XX23
        """
        reply = self._call(
            "audit",
            user_id=user_id,
            since=_seconds("since", since),
            until=_seconds("until", until),
            verdict=verdict,
            call=call,
            user_ip=user_ip,
            operator_name=operator_name,
            after=after,
            most=most,
        )
        return AuditPage._read(reply)

    def audit_pages(
        self,
        *,
        user_id: int | None = None,
        since: datetime.datetime | float | None = None,
        until: datetime.datetime | float | None = None,
        verdict: str | None = None,
        call: str | None = None,
        user_ip: str | None = None,
        operator_name: str | None = None,
        most: int = 100,
    ) -> Iterator[AuditPage]:
        """Reads what the engine has decided page by page, as :meth:`audit` does, to the end. Only an
        engine in this process supports it.

        Args:
            user_id: Those about this user.
            since: Those from this time on: an aware datetime, or Unix seconds.
            until: Those before this time.
            verdict: Those with this verdict, such as ``wrong``, or with one of several: ``wrong,locked``.
            call: Those of this call, such as ``verify``.
            user_ip: Those of calls that had this address of the user.
            operator_name: Those that the operator of this name made.
            most: The most decisions on a page, 1 to 1000.

        Returns:
            An iterator over the pages, each of which is read when it is asked for.

        Raises:
            InvalidArgument: As :meth:`audit`, when the first page is asked for.
            StorageError: The database cannot be read.

        Example:
            >>> with seconder.open("sandbox:?accept=right") as own:
            ...     user = own.create_user("ada@example.com", "555-010-0123", 1)
            ...     sum(len(page.entries) for page in own.admin.audit_pages(verdict="created"))
            2
        """
        given = locals()
        del given["self"]
        after: str | None = None
        while True:
            page = self.audit(**given, after=after)
            yield page
            after = page.next
            if after is None:
                return

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the database file as of one moment into a new file, which only its owner can read.
        Calls of other threads go on meanwhile. Only an engine in this process, on a ``sqlite:``
        database, supports it.

        The copy is checked and on disk when this returns; after an exception, it does not exist.
        Put it back with ``seconder restore``. The keyring is not in it.

        Args:
            path: The file to create.

        Raises:
            InvalidArgument: The path is none.
            StorageError: The file exists or cannot be written, or the database is damaged or not in
                a file.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder:
            ...     with seconder.open(f"sqlite:{folder}/users.db", deliver=print) as own:
            ...         own.admin.backup(f"{folder}/users-of-today.db")
        """
        try:
            text = fspath(path)
        except TypeError:
            raise InvalidArgument("path must be the path of a file", parameter="path") from None
        self._call("backup", path=text)

    def api_key(self) -> str:
        """Returns the application's API key, which signs callbacks. Only an engine in this process
        supports it.

        Returns:
            The key. It is a secret.

        Raises:
            InvalidArgument: The service is a remote one.

        Example:
            >>> with seconder.open("sandbox:", api_key="a-key-of-our-own") as own:
            ...     own.admin.api_key()
            'a-key-of-our-own'
        """
        key: str = self._call("api_key")["api_key"]
        return key


def _seconds(name: str, given: datetime.datetime | float | None) -> int | None:
    """Unix seconds, rounded up: a time with a fraction is between two of them."""
    moment = getattr(given, "timestamp", None)
    if moment is not None and getattr(given, "tzinfo", None) is None:
        raise InvalidArgument(f"{name} must be an aware datetime", parameter=name)
    try:
        seconds: typing.Any = given if moment is None else moment()
        return None if seconds is None else -int(-seconds // 1)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(
            f"{name} must be an aware datetime, or Unix seconds", parameter=name
        ) from None
