"""``python -m seconder import`` where the program is not installed: users from a file, by the operation
``user.import``."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

import seconder
from seconder._seconder import read_source

BATCH = 500
"""The number of users that share a transaction: a login waits for no longer than one of them takes."""
NAME = re.compile(r"[a-z][a-z_]{0,31}")
"""A name of a field. Without a header, the first row of a file has the secret and the number of a user instead."""
SHOWN = 20
"""The number of problems that are shown."""
LONGEST = 1024 * 1024
"""The most characters of a line."""
# `seconder export` puts an apostrophe before what a spreadsheet would take for a formula.
APOSTROPHE = re.compile(r"(^|[,;\t\r\n])'(?='*(?![+][0-9]+(?:[,;\t\r\n]|$))[=+\-@\t\r＝＋－＠])")

SOURCES = ["otpauth", "pam-google-authenticator", "pam-oath", "freeotp", "privacyidea"]
"""The formats of other programs."""
LARGEST = 64 * 1024 * 1024
"""The most bytes of a file of another program, which is read at once."""

Line = tuple[int, Any]
"""The number of a line, and the fields of a user or the text of a problem."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seconder import",
        description="Imports users from a file of JSON lines or CSV. docs/migrate.md describes the fields. Users who "
        "are here already do not change, so the same command resumes an import.",
    )
    parser.add_argument("file", metavar="FILE", help="file to read; - for standard input")
    parser.add_argument("--database", metavar="URL", default="sqlite:seconder.db", help="database (%(default)s)")
    parser.add_argument("--keyring", metavar="FILE", help="file with the keys that seal the database")
    parser.add_argument("--app", metavar="ID", type=int, help="application of the users; by default the first one")
    parser.add_argument("--format", choices=["jsonl", "csv", *SOURCES], help="by default what the name of the file ends in")
    parser.add_argument("--user", metavar="NAME", help="user of a file of otpauth, pam-google-authenticator or freeotp")
    parser.add_argument("--issuer", metavar="NAME", help="issuer whose apps are taken from a file of otpauth or freeotp")
    parser.add_argument("--algorithm", metavar="NAME", help="hash function of the apps in a file of privacyidea")
    parser.add_argument("--ignore", metavar="FIELD", action="append", default=[], help="field to leave out")
    parser.add_argument("--dry-run", action="store_true", help="check every line, and change nothing; a user whom another line has too is found by the import")
    parser.add_argument("--on-conflict", choices=["error", "skip"], default="error", help="what a conflict means")
    return parser


def main(arguments: list[str]) -> int:
    """Imports users, and returns the exit code."""
    given = parser().parse_args(arguments)
    kind = given.format or {"csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl"}.get(
        given.file.rpartition(".")[2].lower()
    )
    if kind is None:
        print("the name of the file shows no format: give --format jsonl or --format csv", file=sys.stderr)
        return 2
    if given.database.startswith("sandbox:"):
        print("--database must not be sandbox:, of which nothing stays when the command ends", file=sys.stderr)
        return 2
    if kind not in SOURCES and (given.user or given.issuer or given.algorithm):
        print("--user, --issuer and --algorithm are for files of other programs: give --format", file=sys.stderr)
        return 2
    engine = seconder.EngineOptions(keyring=given.keyring, must_exist=True)
    counts: Counter[str] = Counter()
    wrong: Exception | None = None
    try:
        with warnings.catch_warnings():
            # Nothing is sent here, so it does not matter that nothing delivers messages.
            warnings.simplefilter("ignore", seconder.SpoolWarning)
            here = seconder.open(given.database, engine=engine)
        with here as service, opened(given.file) as file:
            if kind in SOURCES:
                read = of_source(kind, given)
            else:
                read = rows(file, given.ignore) if kind == "csv" else objects(file, given.ignore)
            import_users(service, read, counts, given.app, given.dry_run)
    except (seconder.SecondFactorError, OSError, ValueError, csv.Error) as error:
        print(error, file=sys.stderr)
        wrong = error
    dry = " dry_run=yes" if given.dry_run else ""
    names = ("created", "unchanged", "conflicting", "bad")
    print(*(f"{name}={counts[name]}" for name in names), end=f"{dry}\n")
    failed = counts["bad"] + (counts["conflicting"] if given.on_conflict == "error" else 0)
    return 1 if failed or wrong else 0


def opened(name: str) -> TextIO:
    # A line that is not UTF-8 is reported as such, and the next ones are read.
    if name == "-":
        return open(sys.stdin.fileno(), encoding="utf-8-sig", errors="surrogateescape", newline="", closefd=False)
    return open(name, encoding="utf-8-sig", errors="surrogateescape", newline="")


def of_source(kind: str, given: argparse.Namespace) -> Iterator[Line]:
    """The users of a file of another program."""
    with open(sys.stdin.fileno() if given.file == "-" else given.file, "rb", closefd=given.file != "-") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("the file is larger than 64 MiB: divide it")
    for line, fields in read_source(kind, data, given.user, given.issuer, given.algorithm):
        if isinstance(fields, dict):
            fields = {name: value for name, value in fields.items() if name not in given.ignore}
        yield line, fields


def import_users(
    service: seconder.Service, lines: Iterator[Line], counts: Counter[str], app: int | None, dry_run: bool
) -> None:
    """Imports users batch by batch, and counts the outcomes. Those before an error of the file stay."""
    with_ids: bool | None = None
    shown = 0
    for batch in batches(lines):
        users = [fields for _, fields in batch if isinstance(fields, dict)]
        reply = service.admin.operate("user.import", users=users, with_ids=with_ids, dry_run=dry_run, app_id=app)
        outcomes = iter(reply["outcomes"])
        if len(reply["outcomes"]) != len(users):
            raise ValueError("there is not one outcome for each user")
        for line, fields in batch:
            outcome: dict[str, Any] = {"outcome": "bad", "problems": [{"field": "", "problem": fields}]}
            if isinstance(fields, dict):
                outcome = next(outcomes)
                if with_ids is None and outcome["outcome"] != "bad":
                    with_ids = fields.get("id") not in (None, "")
            counts[outcome["outcome"]] += 1
            for problem in outcome["problems"]:
                shown += 1
                if shown <= SHOWN:
                    print(f"line {line}:", *filter(None, problem.values()), file=sys.stderr)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{counts.total()} users", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if shown > SHOWN:
        print(f"and {shown - SHOWN} more", file=sys.stderr)


def batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """The lines in batches, also those before an error."""
    batch: list[Line] = []
    try:
        for line in lines:
            batch.append(line)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except (ValueError, csv.Error):
        yield batch
        raise
    if batch:
        yield batch


def objects(file: TextIO, ignored: list[str]) -> Iterator[Line]:
    """The objects of a file of JSON lines. A problem does not repeat what is in the line, which may be a secret."""
    for number, text in enumerate(iter(lambda: file.readline(LONGEST), ""), 1):
        if not text.strip():
            continue
        if len(text) == LONGEST and not text.endswith("\n"):
            raise ValueError(f"line {number} is longer than {LONGEST} characters")
        try:
            fields = json.loads(text, object_pairs_hook=once)
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict) and is_sound(fields):
            yield number, {name: value for name, value in fields.items() if name not in ignored}
        else:
            yield number, "is not a JSON object in UTF-8 with each field once"


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose fields are there once. The last of two may not be the one that was meant."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def is_sound(fields: dict[str, Any]) -> bool:
    """Whether all texts are UTF-8 and all numbers are finite. One other value would have a whole batch rejected."""
    try:
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def rows(file: TextIO, ignored: list[str]) -> Iterator[Line]:
    """The rows of a file of CSV, by the names in its first row."""
    csv.field_size_limit(LONGEST)
    reader = csv.reader(file, strict=True)
    names = [name.strip() for name in next(reader, [])]
    if len(set(names)) < len(names):
        raise ValueError("the first row of the file has a name twice")
    for number, name in enumerate(names, 1):
        if name not in ignored and not NAME.fullmatch(name):
            raise ValueError(f"column {number} of the first row is no name of a field; --ignore leaves a column out")
    for values in reader:
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(names):
            yield reader.line_num, f"has {len(values)} columns, and the first row {len(names)}"
            continue
        fields = {name: APOSTROPHE.sub(r"\1", value.strip()) for name, value in zip(names, values)}
        if is_sound(fields):
            yield reader.line_num, {name: value for name, value in fields.items() if name not in ignored}
        else:
            yield reader.line_num, "is not UTF-8"
