"""What `make demo DEMO=serve` ends with, with the program as the phone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from processes import PATIENCE, wait
from service import PROGRAM

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_invites_a_phone_and_asks_it(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "demo_serve.py")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    environment.pop("DEMO_HOST", None)
    printed = tmp_path / "printed"
    with open(printed, "w") as out, subprocess.Popen(
        [sys.executable, script, PROGRAM],
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=out,
        env=environment,
    ) as demo:
        try:
            assert demo.stdin
            shown = re.compile(r"(https://localhost:\d+/-/approver/#\S+)[\s\S]+certificate, (\S+\.pem)")
            found = wait(lambda: shown.search(printed.read_text()), "an invitation")
            device = tmp_path / "device.json"

            def phone(*arguments: str, given: str = "") -> str:
                command = [PROGRAM, "device", *arguments, f"--device-file={device}"]
                done = subprocess.run(
                    command, input=given, capture_output=True, text=True, timeout=PATIENCE
                )
                assert done.returncode == 0, done.stderr
                return done.stdout

            phone("register", f"--ca-file={found[2]}", given=found[1])
            demo.stdin.write(b"\n")
            demo.stdin.flush()
            asked = re.compile(r"Type (\d\d) on the phone")
            number = wait(lambda: asked.search(printed.read_text()), "a number")[1]
            listed = phone("pending")
            assert "Log in to Example?" in listed
            phone("approve", listed.splitlines()[-1].split()[0], f"--number={number}")
            wait(lambda: "Welcome, Ada." in printed.read_text(), "the answer")
            demo.stdin.close()
            assert demo.wait(PATIENCE) == 0
        finally:
            demo.kill()
    assert {path.name for path in tmp_path.iterdir()} == {"printed", "device.json"}
