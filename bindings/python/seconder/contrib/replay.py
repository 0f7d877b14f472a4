"""Memories that processes share, so that of one callback exactly one of them believes it."""

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
"""The shortest time between two removals of what is stale, in seconds."""

SLACK = 3600
"""How much longer than needed everything is kept, in seconds: machines' clocks differ."""


class Cursor(Protocol):
    """What :class:`SqlReplay` needs of a cursor (PEP 249)."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement wrote."""

    def execute(self, operation: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Runs one statement."""


class Connection(Protocol):
    """What :class:`SqlReplay` needs of a connection (PEP 249)."""

    def cursor(self) -> Cursor:
        """A cursor."""

    def commit(self) -> None:
        """Makes what was written last."""

    def close(self) -> None:
        """Lets go of the connection, and of what was not committed."""


class SqlReplay:
    """A memory in a table with a unique key, for SQLite and PostgreSQL by any driver of PEP 249.

    The database decides who was first, so it holds for every process and machine that writes to it,
    and what it was told is still known after a restart.

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
        """Makes the table unless it is there.

        Args:
            connect: Gives a connection for one question, which is closed after it; one of a pool
                will do. It must not commit by itself before it is asked to.
            mark: How the driver marks a parameter: ``%s``, or ``?``.
            table: The table's name, of letters, digits and underscores.

        Raises:
            InvalidArgument: The name or the mark cannot be right.
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
        """A memory in a SQLite file of its own, for the processes of one machine.

        Args:
            path: The file; it is made when it is not there.

        Raises:
            StorageError: The file cannot be opened or is no database.
        """
        if os.fspath(path) in ("", ":memory:"):
            message = "path must name a file: processes do not share a memory without one"
            raise InvalidArgument(message, parameter="path")
        try:
            return cls(lambda: sqlite3.connect(path, timeout=5), mark="?")
        except sqlite3.Error as error:
            raise StorageError(f"cannot open {os.fspath(path)}: {error}") from error

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`. What may not be forgotten is kept for
        ever. The driver's exceptions come as they are."""
        with closing(self._connect()) as connection:
            cursor = connection.cursor()
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
    """What :class:`RedisReplay` needs of a client: ``redis.Redis`` has it."""

    def set(self, name: str, value: str, /, *, nx: bool, ex: int | None) -> Any:
        """Sets a key that is not there yet (``nx``), for so many seconds (``ex``)."""


class RedisReplay:
    """A memory in Redis or Valkey, for the processes of many machines.

    Looking and remembering are one command there (``SET … NX``). It holds as long as the server
    keeps what it was told: set ``maxmemory-policy noeviction``, and know that a server that
    restarts without having written its memory down has forgotten. Where that is too little, take
    :class:`SqlReplay`.
    """

    def __init__(self, client: RedisClient, *, prefix: str = "seconder:") -> None:
        """Asks nothing yet.

        Args:
            client: A ``redis.Redis``.
            prefix: What the keys begin with.
        """
        self._client = client
        self._prefix = prefix

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`. The client's exceptions come as they
        are, also the one of a server whose memory is full."""
        life = math.ceil(max(until - time.time(), 0)) + SLACK if math.isfinite(until) else None
        return self._client.set(self._prefix + key, "1", nx=True, ex=life) is True
