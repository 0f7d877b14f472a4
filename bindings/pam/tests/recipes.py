"""The recipes of docs/pam.md, as they are printed there."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pam.md"


def recipes() -> dict[str, str]:
    """The blocks of the page by what their first line says after the `#`."""
    blocks = re.findall(r"^```\w*\n# (/\S[^\n]*)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    found = {title: text for title, text in blocks}
    assert len(found) == len(blocks), "two blocks have the same first line"
    return found


def apply(title: str) -> Path:
    """Writes the file that a recipe describes, or adds it after a line, or in place of one."""
    text = recipes()[title]
    name, place, rest = title.partition(", ")
    path = Path(name)
    if place:
        original = path.with_name("original-" + path.name)
        if not original.exists():
            original.write_text(path.read_text())
        where, _, line = rest.partition(" (")[0].partition(": ")
        whole = original.read_text()
        assert whole.count(f"\n{line}\n") == 1, f"{path} has no line {line}"
        text = {"after": f"{line}\n{text}", "in place of": text}[where]
        text = whole.replace(f"\n{line}\n", f"\n{text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)
    return path
