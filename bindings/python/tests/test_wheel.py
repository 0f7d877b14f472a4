"""The packages, built as an index gets them and used in empty environments: the module's source
package, a wheel made of it, and the wheel of the program."""

from __future__ import annotations

import email
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "install.md"
# One process runs these, because each would build the packages for itself.
pytestmark = pytest.mark.xdist_group("packages")
LOGIN = """
import seconder
assert seconder.__file__.startswith({home!r}), seconder.__file__
with seconder.open("sandbox:") as service:
    user = service.create_user("ada@example.com", "555-010-0123", 1)
    print(service.verify(user.user_id, "0000000"))
"""
# Modules that an application imports if it was installed with an extra.
EXTRAS = {
    "django": ["seconder.contrib.django", "seconder.contrib.django.replay"],
    "flask": ["seconder.contrib.flask"],
    "fastapi": ["seconder.contrib.asgi", "fastapi"],
    "sentry": ["sentry_sdk"],
}


def run(*command: str | Path, cwd: Path | None = None) -> str:
    # maturin is installed next to the Python that runs this.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=cwd,
        env={**os.environ, "PATH": path, "CARGO_TARGET_DIR": target},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Packages:
    folder: Path
    source: Path
    module: Path
    program: Path


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Builds each package once, in the profile whose dependencies are already compiled."""
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "build", "-q", "--no-isolation", "--sdist", "-o", folder, HERE)
    (source,) = folder.glob("*.tar.gz")
    unpacked = unpack(source, tmp_path_factory.mktemp("unpacked"))
    build(unpacked, folder, "seconder", "seconder-python")
    build(ROOT / "server", folder, features="otlp")
    (module,) = folder.glob("seconder-*.whl")
    (program,) = folder.glob("seconder_server-*.whl")
    return Packages(folder, source, module, program)


def build(project: Path, folder: Path, *apart: str, features: str = "") -> None:
    """Builds a wheel as pip does, with the features with which most of it is already compiled. The
    crates ``apart`` have settings of their own, so that cargo does not take them for this folder's
    crates: otherwise it would compile these again after this."""
    settings = [f"--config profile.dev.package.{crate}.debug=false" for crate in apart]
    # A source package has a part of the workspace, so cargo shortens the list of crates there.
    # Those that it keeps are here already, in the same versions.
    settings += [f"--features={features}"] if features else []
    arguments = " ".join(["--offline --profile dev", *settings])
    options = ["-q", "--no-isolation", "--wheel", f"-Cbuild-args={arguments}"]
    run(sys.executable, "-m", "build", *options, "-o", folder, project)


def unpack(source: Path, folder: Path) -> Path:
    """Unpacks a source package with new times: cargo compares those alone to find what changed."""
    now = time.time()
    with tarfile.open(source) as archive:
        for member in archive:
            member.mtime = now
            archive.extract(member, folder)
    return folder / source.name.removesuffix(".tar.gz")


def environment(home: Path, folder: Path, *requirements: str, index: bool = False) -> Path:
    """Returns the Python of a new environment in which packages of the folder are installed, and
    nothing else but what they require."""
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    pip += ["--no-compile", "--disable-pip-version-check", "--find-links", folder]
    if index:
        # The versions with which everything else is tested.
        pinned = home / "constraints.txt"
        known = {item.name: item.version for item in metadata.distributions()}
        known = {name: known[name] for name in known if not name.startswith("seconder")}
        pinned.write_text("".join(f"{name}=={known[name]}\n" for name in known))
        pip += ["-c", pinned]
    run(*pip, *([] if index else ["--no-index"]), *requirements)
    return python


def metadata_of(wheel: Path) -> tuple[list[str], str, Message]:
    """Returns the names of the files of a wheel, its folder of metadata, and the metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.split("/")[0] for name in names if name.endswith("/METADATA"))
        return names, info, email.message_from_bytes(archive.read(f"{info}/METADATA"))


def test_one_wheel_serves_every_python_and_has_no_dependencies(packages: Packages) -> None:
    assert "-cp310-abi3-" in packages.module.name
    names, info, about = metadata_of(packages.module)
    required = about.get_all("Requires-Dist") or []
    assert all("extra ==" in requirement for requirement in required), required
    assert set(about.get_all("Provides-Extra") or []) == {*EXTRAS, "server", "all"}
    assert about["Requires-Python"] == ">=3.10"
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    bundled = {"seconder", "seconder_pytest"}
    files = {f"{name}/{path.name}" for name in bundled for path in (HERE / name).glob("*.py*")}
    licences = {f"{info}/licenses/{path.name}" for path in HERE.glob("LICENSE-*")}
    assert len(licences) == 3
    assert files | licences | {"seconder/py.typed", "seconder/_seconder.abi3.so"} <= set(names)
    others = {name.split("/")[0] for name in names} - {*bundled, info}
    assert not others, "it would install something beside the packages"


def test_the_description_is_that_of_the_module(packages: Packages) -> None:
    """The project has a README of its own, which is in the source package too."""
    description = metadata_of(packages.module)[2].get_payload()
    assert isinstance(description, str)
    assert description.strip() == (HERE / "README.md").read_text().strip()


def test_the_program_is_a_package_of_the_same_version(packages: Packages) -> None:
    names, info, about = metadata_of(packages.program)
    assert about["Version"] == metadata_of(packages.module)[2]["Version"]
    assert f"{info.removesuffix('.dist-info')}.data/scripts/seconder" in names
    assert len([name for name in names if "/licenses/LICENSE-" in name]) == 3
    assert not about.get_all("Requires-Dist")


def test_a_package_index_accepts_them(packages: Packages) -> None:
    files = [packages.source, packages.module, packages.program]
    run(sys.executable, "-m", "twine", "check", "--strict", *files)


def test_the_source_package_of_the_program_is_complete(tmp_path: Path) -> None:
    options = ["-q", "--no-isolation", "--sdist"]
    run(sys.executable, "-m", "build", *options, "-o", tmp_path, ROOT / "server")
    (source,) = tmp_path.glob("*.tar.gz")
    unpacked = unpack(source, tmp_path)
    assert (unpacked / "DESCRIPTION.md").read_text().startswith("# The program `seconder`")
    manifest = unpacked / "server/Cargo.toml"
    run("cargo", "metadata", "-q", "--offline", "--format-version=1", "--manifest-path", manifest)


@pytest.mark.skipif(not shutil.which("nm"), reason="binutils are not installed")
def test_it_exports_only_the_init_function(packages: Packages, tmp_path: Path) -> None:
    with zipfile.ZipFile(packages.module) as archive:
        module = archive.extract("seconder/_seconder.abi3.so", tmp_path)
    lines = run("nm", "-D", "--defined-only", module).splitlines()
    assert [line.split()[-1] for line in lines] == ["PyInit__seconder"]


def test_it_works_in_an_empty_environment(packages: Packages, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    python = environment(home, packages.folder, "seconder")
    printed = run(python, "-I", "-c", LOGIN.format(home=str(home)), cwd=tmp_path)
    assert printed.startswith("Verification(")
    assert not (home / "bin" / "seconder").exists()
    missing = subprocess.run([python, "-m", "seconder"], capture_output=True, text=True)
    assert missing.returncode == 2 and not missing.stdout
    assert 'pip install "seconder[server]"' in missing.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_its_adapter_imports(
    packages: Packages, tmp_path: Path, extra: str
) -> None:
    python = environment(tmp_path / "venv", packages.folder, f"seconder[{extra}]", index=True)
    imports = "; ".join(f"import {module}" for module in EXTRAS[extra])
    run(python, "-I", "-W", "error", "-c", imports, cwd=tmp_path)


@pytest.fixture(scope="module")
def with_server(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the module and the program."""
    home = tmp_path_factory.mktemp("server") / "venv"
    return environment(home, packages.folder, "seconder[server]").parent


def test_the_extra_brings_the_program(with_server: Path, tmp_path: Path) -> None:
    version = run(with_server / "seconder", "--version")
    module: list[str | Path] = [with_server / "python", "-m", "seconder"]
    assert run(*module, "--version") == version
    assert version.startswith("seconder ")
    wrong = subprocess.run([*module, "fly"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "unrecognized subcommand 'fly'" in wrong.stderr


def test_the_commands_of_the_installation_page_run(with_server: Path, tmp_path: Path) -> None:
    enrol = """import seconder
with seconder.open("sqlite:seconder.db") as service:
    service.create_user("ada@example.com", "555-010-0123", 1)"""
    run(with_server / "python", "-I", "-c", enrol, cwd=tmp_path)
    lines = PAGE.read_text().splitlines()
    commands = [line.split()[3:] for line in lines if line.startswith("python -m seconder ")]
    assert len(commands) == 3
    module: list[str | Path] = [with_server / "python", "-m", "seconder"]
    printed = [run(*module, *command, cwd=tmp_path) for command in commands]
    assert "Usage: seconder serve " in printed[1] and "user_id 1\n" in printed[2]


def test_the_installation_page_names_every_extra(packages: Packages) -> None:
    page, makefile = PAGE.read_text(), (ROOT / "Makefile").read_text()
    for extra in metadata_of(packages.module)[2].get_all("Provides-Extra") or []:
        assert f'pip install "seconder[{extra}]"' in page
    for requirement in metadata_of(packages.module)[2].get_all("Requires-Dist") or []:
        if oldest := re.match(r"[a-z-]+>=([0-9.]+)", requirement):
            assert f" {oldest[1]} or later" in page, requirement
    makefile += "".join(file.read_text() for file in (ROOT / "packaging").glob("*.mk"))
    for target in re.findall(r"^(?:sudo )?make ([a-z-]+)", page, re.MULTILINE):
        assert f"\n{target}:" in makefile, target


def test_signals_reach_the_program(with_server: Path, tmp_path: Path) -> None:
    """The program replaces the process of Python, so it ends in an orderly way itself."""
    options = ["serve", "--self-signed", "--database", "sandbox:", "--listen", "127.0.0.1:0"]
    served = subprocess.Popen(
        [with_server / "python", "-m", "seconder", *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    with served:
        assert served.stderr is not None
        assert any("listening on" in line for line in served.stderr)
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=60)
    assert served.returncode == 0


def test_the_program_is_found_where_pip_moves_it(packages: Packages, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-compile"]
    folder = tmp_path / "folder"
    run(*pip, "--target", folder, "--find-links", packages.folder, "seconder[server]")
    assert run(sys.executable, "-m", "seconder", "--version", cwd=folder).startswith("seconder ")
