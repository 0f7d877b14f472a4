"""The rows that compare durable verifications by many threads with what a database can do."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from comparison import Bound, Comparison, Measures, Peer, Table, verdict

THREADS = (64, 8, 1)
BOUNDS: dict[int, tuple[float, float | None]] = {64: (1 / 5, 3), 8: (1 / 3, None), 1: (1.2, None)}
"""For each number of threads, how long a verification may take in the times of the peers: a
transaction for each verification, and one row of many threads in each transaction."""


def verifications(command: list[str], folder: Path, only: str, quick: bool) -> Iterator[Comparison]:
    """Verifications of right codes of authenticator apps, each on disk before it is acknowledged."""
    for store, databases in (("SQLite", files), ("PostgreSQL", server)):
        names = {threads: f"verify durably on {store}, {threads} threads" for threads in THREADS}
        # Enrolling the users takes time.
        wanted = [n for n in THREADS if only in names[n] and not (quick and n > 1)]
        if wanted:
            with databases(command, folder) as urls:
                for threads in wanted:
                    yield row(command, folder, names[threads], threads, urls, 32 if quick else 960)


def row(
    command: list[str],
    folder: Path,
    what: str,
    threads: int,
    urls: Callable[[int, bool], tuple[str, str, str]],
    turns: int,
) -> Comparison:
    """One row: a new database with users for so many threads, and the peers'."""
    engine, loop, group = urls(threads, False)
    keyring = folder / "stores.keys"
    keyring.unlink(missing_ok=True)
    run(command, "keyring", keyring)
    secrets = run(command, "prepare", engine, keyring, threads)
    urls(threads, True)
    rounds = iter(range(1, 1_000_000))

    def ours() -> Measures:
        arguments = ("engine", engine, keyring, next(rounds), threads, turns)
        measures: Measures = json.loads(run(command, *arguments, given=secrets))
        return measures

    def peer(kind: str, url: str, turns: int) -> Callable[[], Measures]:
        def measure() -> Measures:
            measures: Measures = json.loads(run(command, kind, url, threads, turns))
            return measures

        return measure

    of_loop, of_group = BOUNDS[threads]
    grouped = {"time": Bound(of_group) if of_group else None, "cpu": None}
    return Comparison(
        what,
        ours,
        [
            Peer(
                "a transaction each",
                peer("loop", loop, max(8, turns // 4)),
                {"time": Bound(of_loop), "cpu": None},
            ),
            Peer("one row, grouped", peer("group", group, turns), grouped),
        ],
    )


@contextmanager
def files(
    _: list[str], folder: Path
) -> Iterator[Callable[[int, bool], tuple[str, str, str]]]:
    """Databases in files: the engine's, and copies of it for the peers."""
    names = ("engine", "loop", "group")

    def urls(_: int, is_prepared: bool) -> tuple[str, str, str]:
        engine, loop, group = (folder / f"stores-{name}.db" for name in names)
        if is_prepared:
            shutil.copy(engine, loop)
            shutil.copy(engine, group)
        else:
            remove(folder)
        return f"sqlite:{engine}", f"sqlite:{loop}", f"sqlite:{group}"

    try:
        yield urls
    finally:
        remove(folder)


@contextmanager
def server(
    command: list[str], folder: Path
) -> Iterator[Callable[[int, bool], tuple[str, str, str]]]:
    """Databases of a server. The peers use the engine's, and change nothing that it decides by."""
    with subprocess.Popen(
        [*command, "--", "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        databases = {threads: running.stdout.readline().strip() for threads in THREADS}
        yield lambda threads, _: (databases[threads],) * 3
        running.stdin.close()
    remove(folder)


def user_size(command: list[str], folder: Path, table: Table) -> None:
    """Adds how much the database grows with each user who has an app."""
    most, lengths = 600, []
    with files(command, folder) as urls:
        for threads in (1, 65):
            url, keyring = urls(threads, False)[0], folder / "stores.keys"
            run(command, "keyring", keyring)
            run(command, "prepare", url, keyring, threads)
            lengths.append(Path(url.removeprefix("sqlite:")).stat().st_size)
    size = (lengths[1] - lengths[0]) / (64 * 32)
    what, bound = "size of a user with an app in the database", f"at most {most} bytes"
    table.add(what, "", f"{size:.0f} bytes", "", "", "", bound, verdict(size <= most))


def run(command: list[str], *arguments: object, given: str | None = None) -> str:
    whole = [*command, "--", *map(str, arguments)]
    done = subprocess.run(whole, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def remove(folder: Path) -> None:
    for file in folder.glob("stores*"):
        file.unlink()
