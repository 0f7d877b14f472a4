"""The digits of a code as people type them."""

from __future__ import annotations


def digits(typed: str) -> str:
    """Removes the spaces and dashes that people type between the digits."""
    return "".join(typed.split()).replace("-", "") if isinstance(typed, str) else typed
