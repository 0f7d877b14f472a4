"""Calls the Python interface with valid and hostile arguments, from several threads, and checks what
must hold: see checks.py.

    python fuzz/api --seconds 60
    python fuzz/api --seed SEED --round ROUND     # repeats what failed

A round is the same for the same seed, as far as one thread goes; the order in which threads run, and
the codes that a service draws, differ."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

from checks import Checks
from steps import Steps
from worlds import World

LONGEST_STEP = 120
"""Threads that start no step for longer hang, in seconds. A step takes far less than one. The time of
a round depends on how busy the machine is."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz/api", description="Fuzzes the Python interface.")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="default: a random one")
    parser.add_argument("--round", type=int, help="the only round to run")
    given = parser.parse_args()
    warnings.simplefilter("error")
    faulthandler.enable()
    end = time.monotonic() + given.seconds
    number = given.round or 0
    made: Counter[str] = Counter()
    done: Counter[str] = Counter()
    print(f"== api, {given.seconds:g} s, seed {given.seed}", flush=True)
    while time.monotonic() < end:
        checks, failures = run_round(given.seed, number)
        made += checks.made
        done += checks.done
        if failures or checks.violations:
            report(given.seed, number, checks, failures)
            return 1
        number += 1
        if given.round is not None:
            break
    faulthandler.cancel_dump_traceback_later()
    print(f"{number - (given.round or 0)} rounds; calls, and those that returned:")
    print(", ".join(f"{name} {made[name]}/{done[name]}" for name in sorted(made)))
    return 0


def run_round(seed: str, number: int) -> tuple[Checks, list[BaseException]]:
    """Runs a round. Returns its checks, and what its threads raised."""
    generator = random.Random(f"{seed}-{number}")
    checks = Checks()
    failures: list[BaseException] = []
    log = logging.getLogger("seconder")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.handlers = [checks]
    with tempfile.TemporaryDirectory(prefix="seconder-fuzz-") as folder:
        world = World(generator, Path(folder), checks)
        threads = generator.choice([1, 1, 2, 4])
        steps = generator.randint(20, 120)

        def work(name: str) -> None:
            try:
                Steps(name, world, checks, f"{seed}-{number}-{name}").run(
                    steps, lambda: not failures
                )
            except BaseException as error:
                failures.append(error)

        workers = [
            threading.Thread(target=work, args=(str(each),), daemon=True)
            for each in range(threads)
        ]
        for worker in workers:
            worker.start()
        if not finished(workers, checks):
            report(seed, number, checks, failures)
            faulthandler.dump_traceback()
            os._exit(1)
        world.end()
    return checks, failures


def finished(workers: list[threading.Thread], checks: Checks) -> bool:
    """Waits for the threads, and returns whether all of them end."""
    started, since = 0, time.monotonic()
    for worker in workers:
        while worker.is_alive():
            # If not even this thread goes on, the process ends without a report.
            faulthandler.dump_traceback_later(2 * LONGEST_STEP, exit=True)
            worker.join(1)
            if started != (started := checks.made.total()):
                since = time.monotonic()
            elif time.monotonic() - since > LONGEST_STEP:
                print(f"HANG: no step was started for {LONGEST_STEP} s", file=sys.stderr)
                return False
    return True


def report(seed: str, number: int, checks: Checks, failures: list[BaseException]) -> None:
    out = sys.stderr
    for violation in checks.violations:
        print(f"VIOLATION: {violation}", file=out)
    for failure in failures:
        sys.excepthook(type(failure), failure, failure.__traceback__)
    for name, steps in checks.steps.items():
        print(f"The latest steps of thread {name}:", *steps, sep="\n  ", file=out)
    print(f"Repeat it: python fuzz/api --seed {seed} --round {number}", file=out)


if __name__ == "__main__":
    sys.exit(main())
