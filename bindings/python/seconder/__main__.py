"""``python -m seconder``: runs the program ``seconder`` of the package ``seconder-server``.

The program replaces this process, so signals, output and exit code are the same as when a shell
runs ``seconder``. Without that package, ``python -m seconder import`` imports users all the same.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

PACKAGE = "seconder-server"
PROGRAM = "seconder"


def program() -> Path | None:
    """Returns the path of the program, or `None` if its package is not installed."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    scripts = [Path(str(file.locate())) for file in files if file.name == PROGRAM]
    # `pip install --target` moves the scripts, but not their entries in the record of files.
    scripts.append(Path(__file__).resolve().parents[1] / "bin" / PROGRAM)
    return next((script.resolve() for script in scripts if os.access(script, os.X_OK)), None)


def main() -> None:
    found = program()
    if found is None and sys.argv[1:2] == ["import"]:
        from seconder import _importing

        sys.exit(_importing.main(sys.argv[2:]))
    if found is None:
        print(
            f"The program {PROGRAM} is not installed here. Install it with: "
            'pip install "seconder[server]"',
            file=sys.stderr,
        )
        sys.exit(2)
    os.execv(found, [PROGRAM, *sys.argv[1:]])


if __name__ == "__main__":
    main()
