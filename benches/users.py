"""Databases of many users, for the rows that compare every call at two numbers of users."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Rounds = dict[str, list[list[float]]]
"""For each call the rounds: nanoseconds on the small database, and on the large one."""

SUBJECT = "'user:' || i"
NUMBER = "'+1555' || printf('%07d', i)"
PHONE = f"'phone:1:' || {NUMBER}"
UUID = "printf('%08x-0000-4000-8000-%012x', i, i)"

USER = {"user_id": "i"}

TABLES: list[tuple[str, str, dict[str, str]]] = [
    ("users", "1", USER | {"cellphone": "printf('555%07d', i)"}),
    ("codes", "subject LIKE 'user:%'", {"subject": SUBJECT}),
    ("verifications", "1", {"subject": PHONE, "uuid": UUID}),
    ("authenticators", "1", USER),
    ("devices", "1", USER | {"device_id": "i"}),
    ("approvals", "status = 'pending'", USER | {"uuid": UUID}),
    ("open_approvals", "1", USER | {"uuid": UUID}),
    ("activities", "1", USER),
    ("lookups", "kind = 'phone'", {"name": NUMBER, "id": "i"}),
    ("lookups", "kind = 'device'", {"name": "i", "id": "i"}),
    ("lookups", "kind = 'approval'", {"name": UUID, "id": "i"}),
    ("lookups", "kind = 'verification'", {"name": UUID, "id": "15550000000 + i"}),
]
"""Which row of a table every user gets, and the columns that differ from user to user."""


def fill(path: Path, users: int) -> None:
    """Gives the database so many users, each with what the first one has.

    The rows are written past the library, since a commit for each would take an hour.
    """
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        for table, which, differing in TABLES:
            add(db, table, which, differing, users)
        db.execute("UPDATE sequences SET last = ? WHERE name IN ('users', 'devices')", [users])
        code = "(SELECT code FROM codes WHERE subject = 'user:1')"
        differing = {"subject": PHONE, "code": code}
        add(db, "codes", "subject LIKE 'phone:%'", differing, users)
        db.execute("COMMIT")
    db.close()


def add(
    db: sqlite3.Connection, table: str, which: str, differing: dict[str, str], users: int
) -> None:
    found = db.execute(f"SELECT * FROM {table} WHERE {which} LIMIT 1")
    columns = [column[0] for column in found.description]
    row = found.fetchone()
    values = ", ".join(differing.get(column, "?") for column in columns)
    same = [value for column, value in zip(columns, row) if column not in differing]
    db.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) WITH RECURSIVE numbers (i) AS "
        f"(SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < {users}) "
        f"SELECT {values} FROM numbers",
        same,
    )


@contextmanager
def databases(program: Path, folder: Path, sizes: tuple[int, int]) -> Iterator[list[str]]:
    """Makes both databases, and yields the arguments that `measure` begins with. They are removed
    afterwards: a million users have about a gigabyte."""
    paths = [folder / f"users-{users}.db" for users in sizes]
    remove(folder)
    try:
        first = subprocess.run(
            [program, "prepare", f"sqlite:{paths[0]}"], stdout=subprocess.PIPE, check=True
        )
        shutil.copy(paths[0], paths[1])
        for path, users in zip(paths, sizes):
            fill(path, users)
        prepared = json.loads(first.stdout)
        pairs = [[f"sqlite:{path}", str(users)] for path, users in zip(paths, sizes)]
        yield [*pairs[0], *pairs[1], prepared["code"], prepared["secret"]]
    finally:
        remove(folder)


def measured(program: Path, folder: Path, sizes: tuple[int, int], rounds: int, turns: int) -> Rounds:
    """Measures every call on databases of these sizes."""
    with databases(program, folder, sizes) as arguments:
        command = [program, "measure", *arguments, str(rounds), str(turns)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: Rounds = json.loads(done.stdout)
    return found


def remove(folder: Path) -> None:
    for path in folder.glob("users-*.db*"):
        path.unlink()
