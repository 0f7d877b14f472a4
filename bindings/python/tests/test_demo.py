"""The demonstration program runs to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_demonstration_succeeds() -> None:
    demo = Path(__file__).parents[3] / "examples" / "demo.py"
    done = subprocess.run([sys.executable, str(demo)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("Everything worked as expected.\n") and not done.stderr
