"""The row of users who are imported from a file."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from comparison import Table, in_words, verdict
from https import started
from messages import fresh

MOST = 3600e9 / 10_000_000
"""The most nanoseconds that a user may take: ten million users an hour."""


def imported(program: Path, folder: Path, only: str, quick: bool, table: Table) -> None:
    """Adds how long a user with an authenticator app takes to be imported into a database file."""
    users = 1000 if quick else 1_000_000
    what = f"import {users:,} users with an app, each"
    if only not in what:
        return
    print(f"{what} …", file=sys.stderr)
    folder, program = folder.resolve() / "moving", program.resolve()
    with fresh(folder):
        with open(folder / "users.csv", "w") as file:
            file.write("id,email,phone,confirmed,secret\n")
            secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
            for user in range(1, users + 1):
                # Numbers of the United States whose first digits are 201 and whose next ones begin with 2 to 9.
                file.write(f"{user},user{user}@example.com,+1201{2_000_000 + user},true,{secret}\n")
        # It creates the database.
        with started(program, folder, "--self-signed"):
            pass
        begun = time.perf_counter_ns()
        command = [program, "import", "users.csv"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        took = (time.perf_counter_ns() - begun) / users
    if not done.stdout.startswith(f"created={users} "):
        raise SystemExit(f"not all were imported: {done.stdout}")
    bound = f"at most {in_words(MOST)}"
    table.add(what, "", in_words(took), "", "", "", bound, verdict(took <= MOST))
