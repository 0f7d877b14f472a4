"""The rows that compare durable verifications by many threads with what a database can do."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from run import Comparison, Measures

BOUNDS = {64: (1 / 5, 3), 8: (1 / 3, None), 1: (1.2, None)}
"""For each number of threads, how long a verification may take in the times of the peers: a
transaction for each verification, and one row of many threads in each transaction."""


def verifications(command: list[str], folder: Path, only: str, quick: bool) -> Iterator[Comparison]:
    """Verifications of right codes of authenticator apps, each on disk before it is acknowledged."""
    from run import Bound, Comparison, Peer

    for threads, (of_loop, of_group) in BOUNDS.items():
        what = f"verify durably in the process, {threads} threads"
        # Enrolling the users takes time.
        if only not in what or (quick and threads > 1):
            continue
        turns = 32 if quick else 960
        with database(command, folder, threads) as (path, engine):
            yield Comparison(
                what,
                engine(threads, turns),
                [
                    Peer(
                        "a transaction each",
                        peer(command, "loop", path("loop"), threads, max(8, turns // 4)),
                        {"time": Bound(of_loop), "cpu": None},
                    ),
                    Peer(
                        "one row, grouped",
                        peer(command, "group", path("group"), threads, turns),
                        {"time": Bound(of_group) if of_group else None, "cpu": None},
                    ),
                ],
            )


def run(command: list[str], *arguments: object, given: str | None = None) -> str:
    whole = [*command, "--", *map(str, arguments)]
    done = subprocess.run(whole, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def peer(
    command: list[str], what: str, file: Path, threads: int, turns: int
) -> Callable[[], Measures]:
    def measure() -> Measures:
        measures: Measures = json.loads(run(command, what, file, threads, turns))
        return measures

    return measure


@contextmanager
def database(
    command: list[str], folder: Path, threads: int
) -> Iterator[tuple[Callable[[str], Path], Callable[[int, int], Callable[[], Measures]]]]:
    """A database with users for so many threads, and a copy for each peer."""

    def path(name: str) -> Path:
        return folder / f"stores-{name}.db"

    url, keyring = f"sqlite:{path('engine')}", folder / "stores.keys"
    remove(folder)
    try:
        secrets = run(command, "prepare", url, keyring, threads)
        for name in ("loop", "group"):
            shutil.copy(path("engine"), path(name))
        rounds = iter(range(1, 1_000_000))

        def engine(threads: int, turns: int) -> Callable[[], Measures]:
            def measure() -> Measures:
                arguments = ("engine", url, keyring, next(rounds), threads, turns)
                measures: Measures = json.loads(run(command, *arguments, given=secrets))
                return measures

            return measure

        yield path, engine
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    for file in folder.glob("stores*"):
        file.unlink()
