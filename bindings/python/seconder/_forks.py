"""Forks by Python: no thread uses a database at that moment, so that the child can open databases."""

from __future__ import annotations

import os

from seconder import _seconder

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_seconder.before_fork, after_in_parent=_seconder.after_fork)
