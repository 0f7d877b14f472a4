"""Replay memories that processes share, so that exactly one of them accepts each callback."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Protocol

from seconder.errors import InvalidArgument, StorageError

__all__ = ["Connection", "Cursor", "RedisClient", "RedisReplay", "SqlReplay"]

SWEEP = 60.0
"""The minimum time between two removals of expired entries, in seconds."""

SLACK = 3600
"""The time for which each entry is kept longer than needed, in seconds: machines' clocks differ."""


class Cursor(Protocol):
    """The part of a cursor that :class:`SqlReplay` needs (PEP 249)."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement wrote."""

    def execute(self, operation: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Runs one statement."""


class Connection(Protocol):
    """The part of a connection that :class:`SqlReplay` needs (PEP 249)."""

    def cursor(self) -> Cursor:
        """Returns a cursor."""

    def commit(self) -> None:
        """Commits the transaction."""

    def close(self) -> None:
        """Closes the connection, and rolls back what was not committed."""


class SqlReplay:
    """A memory in a table with a unique key, for SQLite and PostgreSQL by any driver of PEP 249.

    The database decides which process was first, so it works for every process and machine that
    writes to it, and it remembers across restarts.

    >>> memory = SqlReplay.sqlite("replay.db")
    >>> memory.first_time("signature", 4e9), memory.first_time("signature", 4e9)
    (True, False)
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        mark: str = "%s",
        table: str = "seconder_callbacks",
    ) -> None:
        """Creates the table if it does not exist.

        Args:
            connect: Returns a connection for one statement, which is closed afterwards; it can come
                from a pool. It must not be in autocommit mode.
            mark: The driver's parameter marker: ``%s``, or ``?``.
            table: The table's name: letters, digits and underscores.

        Raises:
            InvalidArgument: The name or the marker is invalid.
        """
        if not (table.isascii() and table.isidentifier()):
            raise InvalidArgument("table must be letters, digits and _", parameter="table")
        if mark not in ("%s", "?"):
            raise InvalidArgument("mark must be %s or ?", parameter="mark")
        self._connect = connect
        self._insert = f"INSERT INTO {table} VALUES ({mark}, {mark}) ON CONFLICT DO NOTHING"
        self._delete = f"DELETE FROM {table} WHERE until < {mark}"
        self._swept = -math.inf
        with closing(connect()) as connection:
            cursor = connection.cursor()
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, until BIGINT)"
            )
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {table}_until ON {table} (until)")
            connection.commit()

    @classmethod
    def sqlite(cls, path: str | os.PathLike[str]) -> SqlReplay:
        """Returns a memory in a SQLite file, for the processes of one machine.

        Args:
            path: The file; it is created if it does not exist.

        Raises:
            InvalidArgument: The path does not name a file.
            StorageError: The file cannot be opened or is not a database.
        """
        if os.fspath(path) in ("", ":memory:"):
            message = "path must name a file: processes cannot share a memory without one"
            raise InvalidArgument(message, parameter="path")
        try:
            return cls(lambda: sqlite3.connect(path, timeout=5), mark="?")
        except sqlite3.Error as error:
            raise StorageError(f"cannot open {os.fspath(path)}: {error}") from error

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`. An entry that never expires is never
        removed. The driver's exceptions are not converted."""
        with closing(self._connect()) as connection:
            cursor = connection.cursor()
            # An entry that never expires has NULL, which is never less than a time.
            cursor.execute(self._insert, (key, math.ceil(until) if math.isfinite(until) else None))
            first = cursor.rowcount == 1
            if self._sweeps():
                cursor.execute(self._delete, (int(time.time()) - SLACK,))
            connection.commit()
        return first

    def _sweeps(self) -> bool:
        now = time.monotonic()
        due = now - self._swept >= SWEEP
        if due:
            self._swept = now
        return due


class RedisClient(Protocol):
    """The part of a client that :class:`RedisReplay` needs: ``redis.Redis`` has it."""

    def set(self, name: str, value: str, /, *, nx: bool, ex: int | None) -> Any:
        """Sets a key that does not exist yet (``nx``), for ``ex`` seconds."""


class RedisReplay:
    """A memory in Redis or Valkey, for the processes of many machines.

    Looking up and inserting are one command there (``SET … NX``). It is only as reliable as the
    server: set ``maxmemory-policy noeviction``, and note that a server that restarts without having
    persisted its data has forgotten it. If that is not enough, use :class:`SqlReplay`.
    """

    def __init__(self, client: RedisClient, *, prefix: str = "seconder:") -> None:
        """Does not access the server yet.

        Args:
            client: A ``redis.Redis``.
            prefix: The prefix of the keys.
        """
        self._client = client
        self._prefix = prefix

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`. The client's exceptions are not
        converted, not even if the server's memory is full."""
        life = math.ceil(max(until - time.time(), 0)) + SLACK if math.isfinite(until) else None
        return self._client.set(self._prefix + key, "1", nx=True, ex=life) is True
