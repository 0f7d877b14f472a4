"""The rows of messages: how fast they leave, and whether a provider that hangs holds up calls."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from comparison import Bound, Comparison, Measures, Peer, Programs

THREADS = 4
"""As many as a route has by default."""


def leaving(
    programs: Programs, command: list[str], only: str, quick: bool
) -> Iterator[Comparison]:
    """Messages that are due, and calls while some of them are not accepted."""
    peers = (("HTTP", "requests"), ("SMPP", "smpplib"))
    names = {how: f"send a message that is due by {how}" for how, _ in peers}
    hanging = "99 % of calls, while a provider hangs"
    if not any(only in name for name in (*names.values(), hanging)):
        return
    folder = programs.folder / "messages"
    messages, calls = (32, 64) if quick else (1000, 4000)

    def run(*arguments: object) -> Measures:
        done = subprocess.run(
            [*command, "--", *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True
        )
        measures: Measures = json.loads(done.stdout or "{}")
        return measures

    with providers(command) as (http, smpp):

        def sent(how: str) -> Callable[[], Measures]:
            def measure() -> Measures:
                with fresh(folder):
                    run("queue", folder, messages)
                    return run("send", folder, http, smpp, messages, how)

            return measure

        def called(how: str) -> Callable[[], Measures]:
            def measure() -> Measures:
                with fresh(folder):
                    return run("calls", folder, http, calls, how)

            return measure

        for how, peer in peers:
            port = {"HTTP": http, "SMPP": smpp}[how]
            bare = programs.py(f"send_{peer}", port, THREADS, turns=2000)
            yield Comparison(
                names[how],
                sent(how.lower()),
                [Peer(f"{peer}, without a database", bare, {"time": None, "cpu": None})],
            )
        yield Comparison(
            hanging,
            called("hang"),
            [Peer("while it sends", called("send"), {"time": Bound(1.2)})],
        )


@contextmanager
def providers(command: list[str]) -> Iterator[list[str]]:
    """Runs the providers, and yields their ports."""
    with subprocess.Popen(
        [*command, "--", "providers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        yield running.stdout.readline().split()
        running.stdin.close()


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """A folder with nothing in it, for a database."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield
    shutil.rmtree(folder)
