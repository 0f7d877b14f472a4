"""Runs the tests that packages have of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

from contrib.conftest import ROOT

TESTS = Path(__file__).parents[1]
SOURCES = ROOT / "build" / "sources"


def run(
    *arguments: str,
    settings: str = "",
    folder: Path = TESTS,
    path: tuple[Path, ...] = (),
    **variables: str,
) -> str:
    """Runs tests in a process with these settings of Django and variables in its environment, and
    returns what it printed."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings, **variables}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, path))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def source(name: str, folder: Path) -> Path:
    """Unpacks the source of the installed version of a package, which has the package's own tests.
    It is downloaded once."""
    archive = SOURCES / f"{name}-{version(name)}.tar.gz"
    if not archive.exists():
        SOURCES.mkdir(parents=True, exist_ok=True)
        new = folder / "downloaded"
        options = ["-q", "--no-deps", "--no-binary", name, "--dest", str(new)]
        wanted = f"{name}=={version(name)}"
        subprocess.run(
            [sys.executable, "-m", "pip", "download", *options, wanted], check=True, timeout=300
        )
        (downloaded,) = new.iterdir()
        shutil.move(downloaded, archive)
    unpacked = folder / name
    with tarfile.open(archive) as packed:
        packed.extractall(unpacked, filter="data")
    (only,) = unpacked.iterdir()
    return only
