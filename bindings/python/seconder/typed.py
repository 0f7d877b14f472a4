# Written by tools/generate from src/calls/*.rs.
"""Dicts in parameters of calls, for annotations. This module imports :mod:`typing`, so the package
imports it only on first use."""

from __future__ import annotations

from typing import Literal

from seconder._replay import Replay as Replay, TypedDict


class Logo(TypedDict):
    """A logo to show with an approval request.

    >>> logo: seconder.typed.Logo = {"res": "default", "url": "https://example.com/logo.png"}
    >>> request = service.create_approval(user.user_id, "Log in?", logos=[logo])
    """

    res: Literal["default", "low", "med", "high"]
    """``default``, ``low``, ``med`` or ``high``."""
    url: str
    """The URL of the picture."""


class OfflineLogin(TypedDict):
    """A login that was accepted while the service was unreachable.

    >>> login: seconder.typed.OfflineLogin = {"step": 59200000, "time": 1776000000}
    """

    step: int
    """The step of the code."""
    time: int
    """When the code was accepted, in Unix seconds."""
