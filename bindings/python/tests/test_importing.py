"""``python -m seconder import`` without the program, beside the program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import seconder
from seconder import _importing

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("SECONDER_PROGRAM", ROOT / "target" / "debug" / "seconder"))
MODULE = [sys.executable, "-m", "seconder"]
APP = {"secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"}
LINES: list[str | dict[str, object]] = [
    "\N{BYTE ORDER MARK}",
    {"id": 7, "email": "ada@example.com", "phone": "+15550100123", "confirmed": True, **APP},
    {"id": 7, "email": "ada@example.com", "phone": "+15550100123"},
    {"id": 8, "email": "bob@example.com", "phone": "+1555"},
    {"email": "eve@example.com"},
    {"id": 9, "email": "eve@example.com", "phone": "+15550100123"},
    {"id": 10, "emial": "dan@example.com", "login": "dan"},
    '{"id": 11, "login": "fay", "id": 12}',
    '{"id": 11, "login": "fay"',
    "[1]",
    "[" * 100_000,
    '{"id": 11, "login": "fay", "created": NaN}',
    '{"id": 11, "login": "\\ud800"}',
    b'{"id": 11, "login": "\xff"}'.decode(errors="surrogateescape"),
    {"id": 13, "login": "gil", "secret": "1"},
]
ROWS = """id,email,login,label,secret,note

7,ada@example.com,ada,'=1+1,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ,"a
note"
8,bob@example.com,bob,,,
9,eve@example.com
10,,,,,
x,dan@example.com,dan,,,
"""


def run(program: list[str], folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    url = f"sqlite:{folder / 'users.db'}"
    seconder.open(url).close()
    command = [*program, "import", "--database", url, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, input="")


def both(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The module's run, after it was compared with the program's."""
    module, program = run(MODULE, tmp_path / "module", *options), run([str(PROGRAM)], tmp_path / "program", *options)
    assert module.stdout == program.stdout
    assert module.returncode == program.returncode, (module, program)
    found = [re.findall(r"line (\d+): ", done.stderr) for done in (module, program)]
    assert found[0] == found[1]
    return module


def test_a_file_of_json_lines_is_imported_as_by_the_program(tmp_path: Path) -> None:
    file = tmp_path / "users.jsonl"
    lines = [line if isinstance(line, str) else json.dumps(line) for line in LINES]
    file.write_text("\n".join(lines[1:]) + "\n", encoding="utf-8-sig", errors="surrogateescape")
    dry = both(tmp_path, "--dry-run", str(file))
    assert dry.stdout == "created=1 unchanged=1 conflicting=1 bad=11 dry_run=yes\n", dry
    done = both(tmp_path, str(file))
    assert done.stdout == "created=1 unchanged=1 conflicting=1 bad=11\n" and done.returncode == 1
    assert APP["secret"] not in done.stderr and "ada@" not in done.stderr
    assert both(tmp_path, str(file)).stdout.startswith("created=0 unchanged=2 ")
    with seconder.open(f"sqlite:{tmp_path / 'module' / 'users.db'}") as service:
        assert service.user_status(7).confirmed


def test_a_file_of_csv_is_imported_as_by_the_program(tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    file.write_text(ROWS)
    assert both(tmp_path, "--ignore", "note", str(file)).stdout == "created=2 unchanged=0 conflicting=0 bad=3\n"
    for folder in ("module", "program"):
        with seconder.open(f"sqlite:{tmp_path / folder / 'users.db'}") as service:
            factors = service.user_status(7).factors
            assert factors and factors.authenticators[0].label == "=1+1"


@pytest.mark.parametrize("text", ["'=1", "'+15", "+15", "''=1", "a,'-b", "'a", "it's", "", "'", "'+1,x", "'＝1"])
def test_apostrophes_are_those_of_an_export(text: str, tmp_path: Path) -> None:
    """A label has what the program makes of it."""
    row = text.replace('"', '""')
    (tmp_path / "users.csv").write_text(f'id,login,secret,label\n7,ada,{APP["secret"]},"{row}"\n')
    assert both(tmp_path, str(tmp_path / "users.csv")).returncode == 0
    labels = []
    for folder in ("module", "program"):
        with seconder.open(f"sqlite:{tmp_path / folder / 'users.db'}") as service:
            factors = service.user_status(7).factors
            assert factors
            labels.append(factors.authenticators[0].label)
    assert labels[0] == labels[1], text


def test_lines_before_an_error_are_imported(tmp_path: Path) -> None:
    rows = "".join(f"{number},u{number}@example.com\n" for number in range(1, 300))
    (tmp_path / "users.csv").write_text(f'id,email\n{rows}300,"x"y\n301,eve@example.com\n')
    done = run(MODULE, tmp_path, str(tmp_path / "users.csv"))
    assert done.returncode == 1 and done.stdout == "created=299 unchanged=0 conflicting=0 bad=0\n", done


def test_the_first_good_user_decides_whether_all_have_ids(tmp_path: Path) -> None:
    rows = "".join(f"{number},u{number}@example.com\n" for number in range(1, 1000))
    (tmp_path / "users.csv").write_text(f"id,email\n,bad\n{rows}")
    assert "created=999 unchanged=0 conflicting=0 bad=1" in both(tmp_path, str(tmp_path / "users.csv")).stdout


def test_a_file_without_a_header_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text(f"ada,+15550100123,{APP['secret']}\neve,+15550100124,\n")
    done = run(MODULE, tmp_path, str(tmp_path / "users.csv"))
    assert done.returncode == 1 and "column 2 of the first row" in done.stderr
    assert "555" not in done.stderr and APP["secret"] not in done.stderr


def test_what_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:{tmp_path / 'users.db'}"
    (tmp_path / "users.txt").write_text("{}\n")
    (tmp_path / "twice.csv").write_text("id,id\n")
    for code, wrong, options in [
        (2, "--format", [str(tmp_path / "users.txt")]),
        (1, "twice", [str(tmp_path / "twice.csv")]),
        (1, "No such file", [str(tmp_path / "none.csv")]),
    ]:
        seconder.open(url).close()
        assert _importing.main(["--database", url, *options]) == code
        assert wrong in capsys.readouterr().err
    assert _importing.main(["--database", "sqlite:/nowhere/users.db", str(tmp_path / "twice.csv")]) == 1
    assert _importing.main(["--database", "sandbox:", str(tmp_path / "twice.csv")]) == 2


@pytest.mark.parametrize(
    "options, name, outcome",
    [
        (["otpauth", "--user", "ada", "--issuer", "Example"], "google-authenticator.txt", "created=1 bad=1"),
        (["otpauth", "--user", "ada"], "google-authenticator.txt", "created=0 bad=1"),
        (["pam-google-authenticator", "--user", "ada"], "google_authenticator", "created=1 bad=0"),
        (["pam-oath"], "users.oath", "created=2 bad=2"),
        (["freeotp", "--user", "ada", "--issuer", "Example"], "freeotp.json", "created=1 bad=1"),
        (["privacyidea", "--algorithm", "SHA256"], "privacyidea.csv", "created=2 bad=2"),
    ],
)
def test_files_of_other_programs_are_imported_as_by_the_program(
    tmp_path: Path, options: list[str], name: str, outcome: str
) -> None:
    file = ROOT / "server" / "tests" / "moving" / "samples" / name
    done = both(tmp_path, "--format", *options, str(file))
    assert set(outcome.split()) <= set(done.stdout.split()), done
    assert "356a192b" not in done.stderr


def test_options_of_other_programs_are_refused_as_by_the_program(tmp_path: Path) -> None:
    oath = ROOT / "server" / "tests" / "moving" / "samples" / "users.oath"
    for options in (["--format", "pam-oath", "--user", "ada"], ["--format", "freeotp"], ["--format", "csv", "--user", "a"]):
        for program in (MODULE, [str(PROGRAM)]):
            assert run(program, tmp_path / program[-1].rpartition("/")[2], *options, str(oath)).returncode, options
