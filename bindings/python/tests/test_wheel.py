"""The wheel, built as pip builds it, and used in an empty environment."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
PROGRAM = """
import seconder
assert seconder.__file__.startswith({home!r}), seconder.__file__
with seconder.open("sandbox:") as service:
    user = service.create_user("ada@example.com", "555-010-0123", 1)
    print(service.verify("0000000", user.id, force=True))
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    # maturin is installed beside the Python that runs this.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=cwd,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds a wheel as pip does, in the profile whose dependencies are already compiled."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    settings = "--config-settings=build-args=--profile=dev --locked"
    run(*pip, "--no-index", settings, "-w", folder, HERE)
    (built,) = folder.iterdir()
    return built


def test_one_wheel_serves_every_python_and_has_no_dependencies(wheel: Path) -> None:
    assert "-cp310-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.split("/")[0] for name in names if name.endswith("/METADATA"))
        about = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    assert about.get_all("Requires-Dist") is None and about["Requires-Python"] == ">=3.10"
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    packages = {"seconder", "seconder_pytest"}
    files = {f"{name}/{path.name}" for name in packages for path in (HERE / name).glob("*.py*")}
    licences = {f"{info}/licenses/{path.name}" for path in HERE.glob("LICENSE-*")}
    assert len(licences) == 3
    assert files | licences | {"seconder/py.typed", "seconder/_seconder.abi3.so"} <= set(names)
    others = {name.split("/")[0] for name in names} - {*packages, info}
    assert not others, "it would install something beside the packages"


@pytest.mark.skipif(not shutil.which("nm"), reason="binutils are not installed")
def test_it_exports_only_the_init_function(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        module = archive.extract("seconder/_seconder.abi3.so", tmp_path)
    lines = run("nm", "-D", "--defined-only", module).splitlines()
    assert [line.split()[-1] for line in lines] == ["PyInit__seconder"]


def test_it_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", wheel)
    printed = run(python, "-I", "-c", PROGRAM.format(home=str(home)), cwd=tmp_path)
    assert printed.startswith("Verification(")
