"""The rows of the PAM module: a login over the socket, loading it, and its size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from comparison import Bound, Comparison, Measures, Peer, Programs, Table

MODULE = "pam_seconder.so"
MOST = 1.5e6
"""The size that the module may have, in bytes."""
NEEDED = {"libpam", "libc", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64"}


def stacks(folder: Path, socket: Path, oath: Path) -> None:
    """Writes a stack of our module alone, and one of pam_oath."""
    folder.mkdir(exist_ok=True)
    # The module trusts no file that others can write.
    folder.chmod(0o755)
    for name, text in (
        ("users", "ada = 1\n"),
        ("pam.conf", f"url = unix:{socket}\nusers = file:{folder}/users\nmethod = code\n"),
        ("seconder", f"auth required {folder.parent}/{MODULE} conf={folder}/pam.conf\n"),
        ("oath", f"auth required {oath} usersfile={folder}/oath.users window=20 digits=6\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)


def by_oath(programs: Programs, folder: Path) -> Callable[[], Measures]:
    """Logs in by pam_oath, whose file has the counter of the last code."""
    run = programs.c("login_pam", folder, "oath", turns=300)

    def fresh() -> Measures:
        users = folder / "oath.users"
        users.write_text(f"HOTP ada - {b'12345678901234567890'.hex()}\n")
        users.chmod(0o600)
        return run()

    return fresh


def through_pam(
    programs: Programs, server: tuple[str, Path], oath: Path
) -> Iterator[Comparison]:
    folder = programs.folder / "stacks"
    stacks(folder, programs.folder / "service.sock", oath)
    yield Comparison(
        "log in once through PAM, by the socket",
        programs.c("login_pam", folder, "seconder", turns=1000),
        [
            Peer(
                "libcurl, HTTPS",
                programs.c("login_libcurl", *server, turns=1000),
                {"time": Bound(1 / 4), "cpu": Bound(1 / 4)},
            ),
            Peer("pam_oath.so, a file", by_oath(programs, folder), {"time": None, "cpu": None}),
        ],
    )
    u2f = next(Path("/usr/lib").glob("*/security/pam_u2f.so"), None)
    peers = [(oath, Bound(2)), *([(u2f, None)] if u2f else [])]
    yield Comparison(
        "load the PAM module",
        programs.load(programs.folder / MODULE, "pam_sm_authenticate"),
        [
            Peer(peer.name, programs.load(peer, "pam_sm_authenticate"), {"time": bound})
            for peer, bound in peers
        ],
    )


def size(folder: Path, table: Table) -> None:
    module = folder / MODULE
    found = module.stat().st_size
    verdict = "met" if found <= MOST else "MISSED"
    bound = f"at most {MOST / 1e6:g} MB"
    table.add("size of the PAM module", "", f"{found / 1e6:.2f} MB", "", "", "", bound, verdict)
    printed = subprocess.run(
        ["readelf", "-d", module], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    lines = [line for line in printed.splitlines() if "NEEDED" in line]
    names = {line.split("[")[1].split(".")[0] for line in lines}
    verdict = "MISSED" if names - NEEDED else "met"
    row = ("needs of the PAM module", "", ", ".join(sorted(names)), "", "", "")
    table.add(*row, "libpam, libc, libgcc_s", verdict)
