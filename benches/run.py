"""Compares seconder with others and prints one table. `make bench` builds everything it needs.

In each row, our program and a peer's alternate, round after round, so that other load on the
machine affects both. A round yields one ratio; the table has the median, the smallest and the
largest of them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from ssl import create_default_context
from statistics import median
from urllib.request import Request, urlopen

import https
import logins
import messages
import moving
import otp
import phones
import stores
import users
from comparison import Bound, Comparison, Peer, Programs, Table, compare, in_words, verdict

HERE = Path(__file__).parent
BODY = HERE / "callback.json"
SIGNATURE = "wpIQsoYlu8dycBR9G1TxMPPQQQjz8kheB5Tl9lMGZ08="
"""The signature of that body, with the key, the URL and the nonce of the programs."""

BY_USERS = Bound(3, 0.1e6)
"""How much longer a call may take among a thousand times as many users. The extra time is for what
is no longer in memory."""


def in_c(programs: Programs, server: tuple[str, Path], pam: Path) -> Iterator[Comparison]:
    yield Comparison(
        "verify a code over kept TLS, from C",
        programs.c("verify_seconder", *server, turns=10_000),
        [
            Peer(
                "libcurl",
                programs.c("verify_libcurl", *server, turns=10_000),
                {"time": Bound(1.2), "cpu": Bound(1.2)},
            )
        ],
    )
    yield Comparison(
        "verify a callback of 1.3 kB, from C",
        programs.c("callback_seconder", BODY, turns=300),
        [
            Peer(
                "the bare HMAC (OpenSSL)",
                programs.c("callback_hmac", BODY, turns=1000),
                {"time": Bound(6)},
            )
        ],
    )
    for code in ("right", "wrong"):
        yield Comparison(
            f"check a {code} TOTP code, from C",
            programs.c("totp_seconder", code, turns=1000),
            [
                Peer(
                    "liboath",
                    programs.c("totp_liboath", code, turns=1000),
                    {"time": Bound(1)},
                )
            ],
        )
    for name, folder in (("without the engine", "thin"), ("with the engine", "full")):
        yield Comparison(
            f"load the library {name}",
            programs.load(programs.folder / folder / "libseconder.so.0", "seconder_verify"),
            [
                Peer(
                    "pam_oath.so",
                    programs.load(pam, "pam_sm_authenticate"),
                    {"time": Bound(1.5, 1e6)},
                )
            ],
        )


def one_shot(programs: Programs, server: tuple[str, Path]) -> Iterator[Comparison]:
    yield Comparison(
        "log in once: open, verify, close, from C",
        programs.c("login_seconder", *server, turns=1000),
        [
            Peer(
                "libcurl",
                programs.c("login_libcurl", *server, turns=1000),
                {"time": Bound(1.2), "cpu": Bound(1.2)},
            )
        ],
    )


def verifying(
    how: str, threads: int, programs: Programs, server: tuple[str, Path], *, bound: bool = True
) -> Comparison:
    peers = (("requests", 1 / 5, 800), ("urllib3", 1 / 2, 1600), ("authy", 1 / 40, 128))
    return Comparison(
        f"verify a code over kept TLS, from Python, {how}",
        programs.py("verify_seconder", *server, threads, turns=8000),
        [
            Peer(
                name,
                programs.py(f"verify_{name}", *server, threads, turns=turns),
                {"time": Bound(factor) if bound else None},
            )
            for name, factor, turns in peers
        ],
    )


def in_python_pinned(programs: Programs, server: tuple[str, Path]) -> Iterator[Comparison]:
    """The comparisons that run with client and server on one processor."""
    yield verifying("1 thread", 1, programs, server)


def in_python(programs: Programs, server: tuple[str, Path]) -> Iterator[Comparison]:
    yield verifying("1 thread, not on one processor", 1, programs, server, bound=False)
    for threads in (4, 16):
        yield verifying(f"{threads} threads", threads, programs, server)
    yield Comparison(
        "verify a callback of 1.3 kB, from Python",
        programs.py("callback_seconder", BODY, SIGNATURE, turns=20_000),
        [
            Peer(
                "authy",
                programs.py("callback_authy", BODY, SIGNATURE, turns=1000),
                {"time": Bound(1 / 40)},
            ),
            Peer(
                "json.loads and the bare HMAC",
                programs.py("callback_bare", BODY, turns=20_000),
                {"time": None},
            ),
        ],
    )
    yield Comparison(
        "start Python and import the module",
        programs.start(programs.python, "import seconder"),
        [
            Peer("no import", programs.start(programs.python, ""), {"time": Bound(1, 15e6)}),
            *(
                Peer(name, programs.start(programs.peers_python, f"import {name}"), {"time": None})
                for name in ("requests", "urllib3")
            ),
            Peer(
                "authy",
                programs.start(programs.peers_python, "import authy.api"),
                {"time": None},
            ),
        ],
    )


def by_users(programs: Programs, only: str, quick: bool, rounds: int, table: Table) -> None:
    """Adds for every call its time among few users and among many. The few are the peer."""
    sizes, turns = ((1000, 2000), 2) if quick else ((1000, 1_000_000), 10)
    what, peer = f"among {sizes[1]:,} users: ", f"{sizes[0]:,} users"
    if only not in what + "every call":
        return
    print(f"{what}every call …", file=sys.stderr)
    program = programs.folder / "users_seconder"
    found = users.measured(program, programs.folder, sizes, 1 if quick else rounds, turns)
    for name, pairs in found.items():
        few, many = (median(pair[at] for pair in pairs) for at in (0, 1))
        ratios = sorted(large / small for small, large in pairs)
        table.add(
            what + name,
            peer,
            in_words(many),
            in_words(few),
            f"{median(ratios):.3g}",
            f"{ratios[0]:.3g} to {ratios[-1]:.3g}",
            str(BY_USERS),
            verdict(BY_USERS.met(many, few)),
        )


def sizes(folder: Path, table: Table) -> None:
    """Adds the size of the library, and the libraries that it needs."""
    for name, what, most in (
        ("thin", "size of the library without the engine", 2.3e6),
        ("full", "size of the library with the engine", 6e6),
    ):
        library = folder / name / "libseconder.so.0"
        size = library.stat().st_size
        bound = f"at most {most / 1e6:g} MB"
        table.add(what, "", f"{size / 1e6:.2f} MB", "", "", "", bound, verdict(size <= most))
        dynamic = subprocess.run(
            ["readelf", "-d", library], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        lines = [line for line in dynamic.splitlines() if "NEEDED" in line]
        needed = [line.split("[")[1].rstrip("]") for line in lines]
        # The loader, libm and libpthread are parts of libc.
        libc = ("libc.so", "libm.so", "libpthread.so", "ld-linux")
        others = {need for need in needed if not need.startswith((*libc, "libgcc_s.so"))}
        row = what.replace("size of", "needs of")
        names = ", ".join(sorted({need.split(".")[0] for need in needed}))
        table.add(row, "", names, "", "", "", "libc, libgcc_s", verdict(not others))


def stack(folder: Path, quick: bool, table: Table) -> None:
    """Adds the stack of the deepest call, which man/seconder-daemon.3.in names with a margin."""
    most = 512 if quick else 192
    database = folder / "stack.db"
    done = subprocess.run(
        [folder / "stack", f"sqlite:{database}", str(most)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    for path in folder.glob("stack.db*"):
        path.unlink()
    used = int(done.stdout.split()[0])
    bound = f"at most {most} KiB"
    what = "stack of the deepest call, with the engine"
    table.add(what, "", f"{used} KiB", "", "", "", bound, verdict(used <= most))


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Keeps the programs on one processor. Client and server never work at the same time, so the
    figure is then the work of both, without the time to wake up a second processor."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Runs the server, and yields its URL and certificate."""
    certificate = folder / "certificate.pem"
    with subprocess.Popen(
        [*command, "--", str(certificate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        yield server.stdout.readline().strip(), certificate
        server.stdin.close()


@contextmanager
def real_service(program: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Runs `seconder serve` with one user, and yields its URL and certificate."""
    folder = folder.resolve()
    certificate = folder / "service.pem"
    options = ["--database=sandbox:", "--self-signed", f"--certificate-out={certificate}"]
    options += [f"--unix={folder}/service.sock", "--limit=key_rate=0"]
    with https.started(program, folder, *options) as (_, url):
        user = b"user[email]=ada@example.com&user[cellphone]=5550100123&user[country_code]=1"
        enrol = Request(f"{url}/protected/json/users/new", user)
        enrol.add_header("X-Svc-API-Key", https.KEY)
        urlopen(enrol, context=create_default_context(cafile=str(certificate))).close()
        yield url, certificate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="where the C programs are")
    parser.add_argument("--python", type=Path, required=True, help="a Python that has seconder")
    parser.add_argument("--peers-python", type=Path, required=True, help="one that has the peers")
    parser.add_argument("--privacyidea-python", type=Path, help="one that has privacyIDEA")
    parser.add_argument("--server", type=shlex.split, required=True, help="runs server.rs")
    parser.add_argument("--stores", type=shlex.split, required=True, help="runs stores.rs")
    parser.add_argument("--messages", type=shlex.split, required=True, help="runs messages.rs")
    parser.add_argument("--serving", type=shlex.split, required=True, help="runs serving.rs")
    parser.add_argument("--phones", type=shlex.split, required=True, help="runs phones.rs")
    parser.add_argument("--serve", type=Path, required=True, help="the program seconder")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="only rows whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="only show that it runs")
    options = parser.parse_args()
    # Rows in other files use this module.
    sys.modules["run"] = sys.modules[__name__]
    options.programs = options.programs.resolve()
    programs, table = Programs(options), Table()
    pam = next(Path("/usr/lib").glob("*/security/pam_oath.so"))
    bare = partial(serving, options.server, options.programs)
    real = partial(real_service, options.serve, options.programs)
    kinds = (
        (nullcontext, bare, lambda server: in_c(programs, server, pam)),
        (nullcontext, real, lambda server: one_shot(programs, server)),
        (nullcontext, real, lambda server: logins.through_pam(programs, server, pam)),
        (on_one_processor, bare, lambda server: in_python_pinned(programs, server)),
        (nullcontext, bare, lambda server: in_python(programs, server)),
        (nullcontext, bare, lambda _: otp.devices(programs)),
        (nullcontext, nullcontext, lambda _: phones.alone(programs, options.phones)),
        (
            nullcontext,
            nullcontext,
            lambda _: messages.leaving(programs, options.messages, options.only, options.quick),
        ),
        (
            nullcontext,
            nullcontext,
            lambda _: https.verifications(
                programs, options.serving, options.only, options.quick, options.privacyidea_python
            ),
        ),
        (
            nullcontext,
            nullcontext,
            lambda _: stores.verifications(
                options.stores, options.programs, options.only, options.quick
            ),
        ),
    )
    for where, service, kind in kinds:
        with where(), service() as server:
            for comparison in kind(server):
                if options.only in comparison.what:
                    print(f"{comparison.what} …", file=sys.stderr)
                    compare(comparison, 1 if options.quick else options.rounds, table)
    by_users(programs, options.only, options.quick, options.rounds, table)
    moving.imported(options.serve, options.programs, options.only, options.quick, table)
    phones.many(
        options.phones, options.serve, options.programs, options.only, options.quick, table
    )
    sizes(options.programs, table)
    logins.size(options.programs, table)
    stack(options.programs, options.quick, table)
    if options.only in https.IDLE:
        https.idle(options.serve, options.programs, table)
    if options.only in "size of a user with an app in the database" and not options.quick:
        stores.user_size(options.stores, options.programs, table)
    if options.quick:
        # A test build is slower, so whether a bound is met means nothing.
        table.rows = [(*cells, "") for *cells, _ in table.rows]
    print(table)
    if options.quick:
        print("This shows that the benchmark runs. The figures of a test build mean nothing.")


if __name__ == "__main__":
    main()
