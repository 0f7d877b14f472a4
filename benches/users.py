"""Databases of many users, for the rows that compare every call at two numbers of users."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

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

SEALED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "approvals": (("number", "evidence"), ("user_id", "uuid")),
    "authenticators": (("secret",), ("user_id", "authenticator_id")),
    "codes": (("code",), ("subject", "action")),
    "devices": (("push",), ("user_id", "device_id")),
}
"""The sealed columns of a table, and the key of its rows."""


class Ring:
    """Seals values as src/engine/store/sealing.rs does."""

    def __init__(self, path: Path) -> None:
        lines = (line.split() for line in path.read_text().splitlines())
        words = next(words for words in lines if words[-1:] == ["current"])
        self.id = bytes.fromhex(words[1])
        self.key = AESGCM(base64.b64decode(words[3]))

    def open(self, sealed: bytes, *place: str | int) -> bytes:
        return self.key.decrypt(sealed[8:20], sealed[20:], described(*place))

    def seal(self, plain: bytes, *place: str | int) -> bytes:
        nonce = os.urandom(12)
        return self.id + nonce + self.key.encrypt(nonce, plain, described(*place))


def described(table: str | int, column: str | int, *key: str | int) -> bytes:
    """The place of a value: its table, its column and the key of its row."""
    text = b""
    for kind, part in (("n", table), ("n", column), *((type(part).__name__[0], part) for part in key)):
        kind = {"s": "t"}.get(kind, kind)
        data = part.encode() if isinstance(part, str) else part.to_bytes(8, "big", signed=True)
        text += kind.encode() + len(data).to_bytes(8, "big") + data
    return text


def share(one: Path, other: Path, code: str) -> None:
    """Gives the other database's user the code and the device of the first one's."""
    ring = Ring(other.with_name(other.name + ".keys"))
    with sqlite3.connect(one) as db:
        device = db.execute("SELECT secret_hash FROM devices").fetchone()
    db.close()
    sealed = ring.seal(code.encode(), "codes", "code", "user:1", "")
    with sqlite3.connect(other) as db:
        db.execute("UPDATE codes SET code = ? WHERE subject = 'user:1'", [sealed])
        db.execute("UPDATE devices SET secret_hash = ?", device)
    db.close()


def fill(path: Path, users: int) -> None:
    """Gives the database so many users, each with what the first one has."""
    with written(path, users) as (db, ring):
        for table, which, differing in TABLES:
            add(db, ring, table, which, differing, users)
        # The code of the user, for the number too.
        subject = str(db.execute("SELECT subject FROM codes WHERE subject LIKE 'phone:%'").fetchone()[0])
        sealed = db.execute("SELECT code FROM codes WHERE subject = 'user:1'").fetchone()[0]
        code = ring.seal(ring.open(sealed, "codes", "code", "user:1", ""), "codes", "code", subject, "")
        db.execute("UPDATE codes SET code = ? WHERE subject = ?", [code, subject])
        add(db, ring, "codes", "subject LIKE 'phone:%'", {"subject": PHONE}, users)


@contextmanager
def written(path: Path, users: int) -> Iterator[tuple[sqlite3.Connection, Ring]]:
    """Yields a database, to add rows of so many users to, and its keys.

    The rows are written past the library, since a commit for each would take an hour.
    """
    ring = Ring(path.with_name(path.name + ".keys"))
    with sqlite3.connect(path, isolation_level=None) as db:
        db.create_function("seal", -1, ring.seal)
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        yield db, ring
        db.execute("UPDATE sequences SET last = ? WHERE name IN ('users', 'devices')", [users])
        db.execute("COMMIT")
    db.close()


def add(
    db: sqlite3.Connection,
    ring: Ring,
    table: str,
    which: str,
    differing: dict[str, str],
    users: int,
) -> None:
    found = db.execute(f"SELECT * FROM {table} WHERE {which} LIMIT 1")
    columns = [column[0] for column in found.description]
    row = dict(zip(columns, found.fetchone()))
    given = dict(differing)
    values = {column: value for column, value in row.items() if column not in differing}
    all_sealed, key = SEALED.get(table, ((), ()))
    for sealed in all_sealed:
        place = [table, sealed, *(row[column] for column in key)]
        values[sealed] = ring.open(values[sealed], *place)
        parts = ", ".join(differing.get(column, f":{column}") for column in key)
        given[sealed] = f"seal(:{sealed}, '{table}', '{sealed}', {parts})"
    listed = ", ".join(given.get(column, f":{column}") for column in columns)
    db.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) WITH RECURSIVE numbers (i) AS "
        f"(SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < {users}) "
        f"SELECT {listed} FROM numbers",
        values,
    )


@contextmanager
def databases(program: Path, folder: Path, sizes: tuple[int, int]) -> Iterator[list[str]]:
    """Makes both databases, and yields the arguments that `measure` begins with. They are removed
    afterwards: a million users have about a gigabyte."""
    paths = [folder / f"users-{users}.db" for users in sizes]
    remove(folder)
    try:
        # Not a copy of the first one: codes in a copied database are not accepted.
        first, _ = (
            subprocess.run([program, "prepare", f"sqlite:{path}"], stdout=subprocess.PIPE, check=True)
            for path in paths
        )
        prepared = json.loads(first.stdout)
        share(*paths, prepared["code"])
        for path, users in zip(paths, sizes):
            fill(path, users)
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
