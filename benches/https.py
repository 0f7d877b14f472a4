"""The row of verifications over HTTPS: what the engine, the disk and the audit take beside the connections."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from messages import fresh

if TYPE_CHECKING:
    from run import Comparison, Measures, Programs

CONNECTIONS = 128
USERS = 8192
"""Each has a new code twice a second, so that no client has to wait for one."""


def verifications(
    programs: Programs, command: list[str], only: str, quick: bool
) -> Iterator[Comparison]:
    """Verifications of right codes over kept connections, each on disk before it is acknowledged."""
    from run import Bound, Comparison, Peer

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

    peer = "axum, which stores nothing"
    bounds = {"time": Bound(2), "p99": None, "cpu": None}
    yield Comparison(what, measured("server"), [Peer(peer, measured("bare"), bounds)])
    besieged = {"time": None, "p99": Bound(1.5), "cpu": None}
    alone = Peer("without them", measured("server"), besieged)
    yield Comparison(f"{what}, beside 5,000 idle ones and garbage", measured("besieged"), [alone])
