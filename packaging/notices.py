#!/usr/bin/env python3
"""Writes the licences of the crates that are part of the installed binaries into the files given as
arguments. With --check, reports the files that are out of date instead. The notices must be
distributed with the binaries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HEAD = """\
Licences of what is built into Seconder's library, program and Python module

Below, each text is given once, after the crates that carry it. Beside them:
SQLite, which is in the public domain; the standard library of Rust, by The
Rust Project Developers, under the MIT licence or the Apache License 2.0; and,
in programs for musl, musl, Copyright (c) 2005-2020 Rich Felker, et al., under
the MIT licence.
"""
RULE = "\n" + "=" * 78 + "\n"
# The names of the files that hold licence texts. A crate without such a file is under the licences
# that its manifest names.
TEXTS = re.compile(r"(?i)^(licen[cs]e|copying|notice|unlicense|copyright)")


def built_in() -> list[dict[str, Any]]:
    """Returns the crates that the members of the workspace link, without tests and tools."""
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    host = re.search(r"^host: (.*)$", output(["rustc", "-vV"]), re.MULTILINE)
    assert host is not None
    tree = json.loads(output([*command, f"--filter-platform={host[1]}"]))
    nodes = {node["id"]: node for node in tree["resolve"]["nodes"]}
    # Procedural macros run in the compiler, and are not part of a binary.
    seen = {crate["id"] for crate in tree["packages"] if is_macro(crate)}
    macros = frozenset(seen)
    tools = {crate["id"] for crate in tree["packages"] if crate["name"] == "seconder-generate"}
    pending = [member for member in tree["workspace_members"] if member not in tools]
    while pending:
        crate = pending.pop()
        if crate in seen:
            continue
        seen.add(crate)
        for dependency in nodes[crate]["deps"]:
            # A kind of None is a normal dependency. Build and test dependencies are not linked.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                pending.append(dependency["pkg"])
    others = seen - macros - set(tree["workspace_members"])
    crates = [crate for crate in tree["packages"] if crate["id"] in others]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def is_macro(crate: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in crate["targets"])


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def texts(crate: dict[str, Any]) -> list[str]:
    folder = Path(crate["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and TEXTS.match(file.name))
    return [text for file in files if (text := file.read_text().strip())]


def notices() -> str:
    # The crates of each text, so that a text that many crates have is written once.
    carriers: dict[str, list[str]] = {}
    bare = []
    for crate in built_in():
        name = f"{crate['name']} {crate['version']} ({crate['license']})"
        found = texts(crate)
        if not found:
            bare.append(name)
        for text in found:
            known = next((other for other in carriers if same(other, text)), text)
            carriers.setdefault(known, []).append(name)
    parts = [HEAD]
    if bare:
        title = "Crates that carry no text, under the licences that they name:"
        parts.append("\n".join([title, "", *bare, ""]))
    for text, names in carriers.items():
        parts.append("\n".join(dict.fromkeys(names)) + "\n\n" + text + "\n")
    return RULE.join(parts)


def same(one: str, other: str) -> bool:
    """Returns whether two texts differ only in white space, such as line breaks."""
    return one == other or one.split() == other.split()


def main(arguments: list[str]) -> int:
    check, wanted, status = "--check" in arguments, notices(), 0
    for file in (Path(argument) for argument in arguments if argument != "--check"):
        if not check:
            file.write_text(wanted)
        elif not file.exists() or file.read_text() != wanted:
            print(f"{file} is out of date: run `make notices`", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
