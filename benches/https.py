"""The rows of the service over HTTPS: what the engine, the disk, the audit and the log take beside the connections,
and the memory of a service that has had no call yet."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from comparison import Bound, Comparison, Measures, Peer, Programs, Table, verdict
from messages import fresh

CONNECTIONS = 128
USERS = 16384
"""Each has a new code twice a second, so that no client has to wait for one."""

PER_SECOND = 11_000
WITHIN = 20e6
"""How many verifications a second there are to be, and within how many nanoseconds 99 % of them."""

HERE = Path(__file__).parent
KEY = "the-key-of-the-benchmark"

IDLE = "memory of an idle service"
MOST = 25e6
"""The most bytes that it may take."""


def verifications(
    programs: Programs, command: list[str], only: str, quick: bool, privacyidea: Path | None
) -> Iterator[Comparison]:
    """Verifications of right codes over kept connections, each on disk before it is acknowledged."""
    what = f"verify durably over HTTPS, {CONNECTIONS} connections"
    if only not in what:
        return
    folder = programs.folder / "serving"
    users, seconds = (64, 0.2) if quick else (USERS, 5)

    def measured(which: str) -> Callable[[], Measures]:
        def measure() -> Measures:
            with fresh(folder):
                load = ["load", which, folder, users, CONNECTIONS, seconds]
                arguments = [*command, "--", *map(str, load)]
                done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)
                figures = json.loads(done.stdout)
                return {figure: figures[figure] for figure in ("time", "p99", "cpu")}

        return measure

    def by_privacyidea() -> Measures:
        # With more connections than these it is no faster.
        with fresh(folder):
            arguments = [privacyidea, HERE / "python" / "verify_privacyidea.py", folder, "16", "500"]
            done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)
            figures: Measures = json.loads(done.stdout)
            return figures

    bounds = {"time": Bound(0, 1e9 / PER_SECOND), "p99": Bound(0, WITHIN), "cpu": None}
    peers = [Peer("axum, which stores nothing", measured("bare"), bounds)]
    if privacyidea:
        of_privacyidea = {"time": Bound(1 / 300), "p99": None, "cpu": None}
        peers.append(Peer("privacyIDEA, 16 connections", by_privacyidea, of_privacyidea))
    yield Comparison(what, measured("server"), peers)
    besieged = {"time": None, "p99": Bound(1.5), "cpu": None}
    alone = Peer("without them", measured("server"), besieged)
    yield Comparison(f"{what}, beside 5,000 idle ones and garbage", measured("besieged"), [alone])


def idle(program: Path, folder: Path, table: Table) -> None:
    """Adds the memory of `seconder serve` that has just started, with a database and a keyring."""
    folder = folder.resolve() / "idle"
    with fresh(folder), started(program, folder, "--self-signed") as (process, _):
        with open(f"/proc/{process}/status") as status:
            line = next(line for line in status if line.startswith("VmRSS:"))
    memory = int(line.split()[1]) * 1024
    bound = f"at most {MOST / 1e6:g} MB"
    table.add(IDLE, "", f"{memory / 1e6:.1f} MB", "", "", "", bound, verdict(memory <= MOST))


@contextmanager
def started(program: Path, folder: Path, *options: str) -> Iterator[tuple[int, str]]:
    """Runs `seconder serve` with these options in a folder, and yields its process and its URL."""
    (folder / "key").write_text(KEY)
    always = ["--listen=127.0.0.1:0", "--api-key-file=key", "--log-format=human"]
    command = [program.resolve(), "serve", *always, *options]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        lines = (line.rpartition("listening on ") for line in service.stderr)
        try:
            yield service.pid, next(url.strip() for _, found, url in lines if found)
        finally:
            service.terminate()
