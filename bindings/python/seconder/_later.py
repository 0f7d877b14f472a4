"""Modules that annotations name, imported when one of these annotations is evaluated.

:func:`typing.get_type_hints` evaluates annotations in the module that has them. Importing these modules takes
longer than the rest of the package, and most programs evaluate no annotations.
"""

from __future__ import annotations


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        # It takes as long to import as the largest module of this package.
        from importlib import import_module

        try:
            return getattr(import_module(self._name), name)
        except ModuleNotFoundError:
            # typing_extensions is for type checkers. Before Python 3.11, typing has no Self.
            if self._name != "typing_extensions":
                raise
            typing = import_module("typing")
            return getattr(typing, name, typing.Any)


aio = _Later("seconder.aio")
datetime = _Later("datetime")
results = _Later("seconder.results")
seconder = _Later("seconder")
typed = _Later("seconder.typed")
typing = _Later("typing")
typing_extensions = _Later("typing_extensions")
