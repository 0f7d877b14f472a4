"""The rows of phones with the approver: push messages, signatures, and many phones of many users."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import users
from comparison import Bound, Comparison, Measures, Peer, Programs, Table, in_words, verdict
from https import started
from messages import fresh
from stores import run

SERVICE = "https://login.example"
"""The public URL of the service, as benches/phones.rs has it."""

TABLES: list[tuple[str, str, dict[str, str]]] = [
    ("users", "1", users.USER | {"cellphone": "printf('555%07d', i)"}),
    ("devices", "1", users.USER | {"device_id": "i"}),
    ("authenticators", "1", users.USER | {"device_id": "i"}),
    ("approvals", "1", users.USER | {"uuid": users.UUID}),
    ("open_approvals", "1", users.USER | {"uuid": users.UUID}),
    ("lookups", "kind = 'phone'", {"name": users.NUMBER, "id": "i"}),
    ("lookups", "kind = 'device'", {"name": "i", "id": "i"}),
    ("lookups", "kind = 'approval'", {"name": users.UUID, "id": "i"}),
]
"""What users.TABLES is for its users, for users who have a phone with the approver."""


def alone(programs: Programs, command: list[str]) -> Iterator[Comparison]:
    """What a service does for one phone."""
    folder = programs.folder / "phones"

    def ours(what: str, *where: Path) -> Callable[[], Measures]:
        def measure() -> Measures:
            with fresh(folder):
                measures: Measures = json.loads(run(command, what, *where, programs.turns(1000)))
                return measures

        return measure

    yield Comparison(
        "make a push message",
        ours("push"),
        [
            Peer(
                "pywebpush, its key in a file",
                programs.py("push_pywebpush", "file", turns=5000),
                {"time": Bound(1 / 4)},
            ),
            Peer(
                "pywebpush, its key in memory",
                programs.py("push_pywebpush", "memory", turns=5000),
                {"time": None},
            ),
        ],
    )
    yield Comparison(
        "find a phone and check its signature",
        ours("signature", folder),
        [
            Peer(
                "the bare signature (OpenSSL)",
                programs.c("signature_openssl", turns=1000),
                {"time": Bound(2.5)},
            )
        ],
    )


def in_megabytes(size: float) -> str:
    return f"{size / 1e6:.3g} MB"


def many(
    command: list[str], program: Path, folder: Path, only: str, quick: bool, table: Table
) -> None:
    """Adds the rows of phones that look for requests all the time, among many users."""
    phones, among, seconds = (20, 1000, 4) if quick else (1000, 1_000_000, 15)
    whose = f"{phones:,} phones among {among:,} users"
    rows: list[tuple[str, str, float, Callable[[float], str]]] = [
        (f"{whose}: 95 % of polls", "polls", 3e6, in_words),
        (f"{whose}: 95 % of responses", "responses", 10e6, in_words),
        (f"{whose}: processor", "processor", 0.2e9, lambda used: f"{used / 1e7:.3g} % of one"),
        (f"{whose}: memory that they add", "added", 40e6, in_megabytes),
    ]
    if not any(only in what for what, *_ in rows):
        return
    print(f"{whose} …", file=sys.stderr)
    folder = folder.resolve() / "phones"
    with fresh(folder):
        key = json.loads(run(command, "prepare", folder))["key"]
        database, certificate = folder / "phones.db", folder / "certificate.pem"
        with users.written(database, among) as (db, ring):
            for at, which, differing in TABLES:
                users.add(db, ring, at, which, differing, among)
        options = [f"--database=sqlite:{database}", f"--public-url={SERVICE}"]
        options += ["--self-signed", f"--certificate-out={certificate}"]
        with started(program, folder, *options) as (process, url):
            addr = url.rpartition("/")[2]
            load = (addr, certificate, process, key, among, phones, seconds)
            found = json.loads(run(command, "load", *load))
    for what, figure, most, shown in rows:
        value, bound = found[figure], f"at most {shown(most)}"
        table.add(what, "", shown(value), "", "", "", bound, verdict(value <= most))
