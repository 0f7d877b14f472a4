"""Types for annotations. This module imports :mod:`typing`, so the package imports it only on first
use."""

from __future__ import annotations

from typing import Literal, TypedDict

from seconder._replay import Replay as Replay


class Logo(TypedDict):
    """An image to show with an approval request (section 4.12).

    >>> logo: seconder.Logo = {"res": "default", "url": "https://example.com/logo.png"}
    >>> request = service.create_approval(user.user_id, "Log in?", logos=[logo])
    """

    res: Literal["default", "low", "med", "high"]
    """The resolution of the image; among several images, one must be ``default``."""
    url: str
    """The URL of the image."""


class OfflineLogin(TypedDict):
    """A login that was accepted while the service was unreachable (section 4.22).

    >>> login: seconder.OfflineLogin = {"step": 59200000, "time": 1776000000}
    """

    step: int
    """The step of the code."""
    time: int
    """When the code was accepted, in Unix seconds."""
