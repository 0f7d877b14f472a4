"""What a row of the table compares, and how programs are run and measured."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent

PEERS = ("_authy", "_plugin", "_pywebpush", "_requests", "_smpplib", "_urllib3")
"""The endings of the names of programs that need the peers' environment."""

Measures = dict[str, float]
"""The figures of a program by name: `time` and `cpu`, in nanoseconds."""


@dataclass(frozen=True)
class Bound:
    """Our time may be `factor` times the peer's, plus `extra` nanoseconds. With a factor of 0, the peer is only
    there to compare with."""

    factor: float
    extra: float = 0.0

    def __str__(self) -> str:
        if not self.factor:
            return f"at most {in_words(self.extra)}"
        factor = f"1/{1 / self.factor:g}" if self.factor < 1 else f"{self.factor:g}"
        return f"at most {factor} ×" + (f" + {self.extra / 1e6:g} ms" if self.extra else "")

    def met(self, ours: float, peers: float) -> bool:
        return ours <= self.factor * peers + self.extra


FIGURES = {"cpu": ", processor", "p99": ", 99 % within"}
"""What a row is called that is not about the time."""


@dataclass(frozen=True)
class Peer:
    name: str
    run: Callable[[], Measures]
    bounds: dict[str, Bound | None]
    """The bound of each figure that is compared, by its name; None means no bound."""


@dataclass(frozen=True)
class Comparison:
    what: str
    ours: Callable[[], Measures]
    peers: list[Peer]


@dataclass
class Table:
    rows: list[tuple[str, ...]] = field(
        default_factory=lambda: [("what", "peer", "ours", "peer's", "ratio", "spread", "bound", "")]
    )

    def add(self, *cells: str) -> None:
        self.rows.append(cells)

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows)]
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in self.rows]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


def compare(comparison: Comparison, rounds: int, table: Table) -> None:
    """Measures our program and each peer in turn, `rounds` times."""
    taken = []
    for _ in range(rounds):
        ours = comparison.ours()
        taken.append((ours, [peer.run() for peer in comparison.peers]))
    for at, peer in enumerate(comparison.peers):
        for name, bound in peer.bounds.items():
            ours = [ours[name] for ours, _ in taken]
            theirs = [peers[at][name] for _, peers in taken]
            ratios = sorted(one / other for one, other in zip(ours, theirs))
            table.add(
                comparison.what + FIGURES.get(name, ""),
                peer.name,
                in_words(median(ours)),
                in_words(median(theirs)),
                f"{median(ratios):.3g}",
                f"{ratios[0]:.3g} to {ratios[-1]:.3g}",
                str(bound or ""),
                verdict(bound.met(median(ours), median(theirs))) if bound else "",
            )


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def in_words(nanoseconds: float) -> str:
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


class Programs:
    """Runs the programs, with their numbers of turns."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.folder: Path = options.programs
        self.python: Path = options.python
        self.peers_python: Path = options.peers_python
        self.share = 0.01 if options.quick else 1.0

    def turns(self, whole: int) -> str:
        return str(max(32, int(whole * self.share)))

    def c(self, name: str, *arguments: object, turns: int) -> Callable[[], Measures]:
        return lambda: measured([self.folder / name, *arguments, self.turns(turns)])

    def py(self, name: str, *arguments: object, turns: int) -> Callable[[], Measures]:
        python = self.peers_python if name.endswith(PEERS) else self.python
        program = HERE / "python" / f"{name}.py"
        return lambda: measured([python, program, *arguments, self.turns(turns)])

    def load(self, library: Path, symbol: str) -> Callable[[], Measures]:
        return self.often(lambda: measured([self.folder / "load", library, symbol]))

    def start(self, python: Path, code: str) -> Callable[[], Measures]:
        """Measures how long it takes to start Python and run a line of code."""

        def run() -> Measures:
            start = time.perf_counter_ns()
            subprocess.run([python, "-I", "-c", code], check=True)
            return {"time": time.perf_counter_ns() - start}

        return self.often(run)

    def often(self, run: Callable[[], Measures]) -> Callable[[], Measures]:
        """Runs several processes, for a program that can measure only one turn in each."""
        times = max(1, int(7 * self.share))
        return lambda: {"time": median(run()["time"] for _ in range(times))}


def measured(command: list[object]) -> Measures:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
    measures: Measures = json.loads(done.stdout)
    return measures
