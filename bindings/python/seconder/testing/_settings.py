"""The settings of a service that a sandbox stands in for, checked as in production."""

from __future__ import annotations

from typing import Any

from seconder._functions import checked
from seconder.errors import StorageError
from seconder.opening import open as really_open

NO_FOLDER = "/dev/null"
"""A file, in which no database can be."""


def check(url: str, settings: dict[str, Any], *, may_await: bool = False) -> None:
    """Raises what :func:`seconder.open` raises for a wrong setting, or :func:`seconder.open_async` if
    functions may be async. Nothing is sent, and no database is opened or created."""
    if may_await:
        functions = {name: settings[name] for name in ("deliver", "post", "lookup") if settings.get(name)}
        for name, function in functions.items():
            checked(name, function, may_await=True)
        settings = {**settings, **dict.fromkeys(functions, _nothing)}
    if isinstance(url, str):
        scheme, _, path = url.partition(":")
        path = path.removeprefix("//")
        # A path of a database is moved to where no database can be. The settings are checked first.
        if scheme.lower() == "sqlite" and path and not path.startswith(":"):
            url = f"{scheme}:{NO_FOLDER}/{path}"
        elif scheme.lower() in ("postgres", "postgresql"):
            url = f"{scheme}://{_nowhere(path)}"
    try:
        really_open(url, **settings).close()
    except StorageError:
        # The existence of such a database does not concern a test.
        pass


def _nowhere(path: str) -> str:
    """Returns the rest of a server database's URL after the scheme, with a socket that cannot exist
    as its host."""
    authority, slash, rest = path.partition("/")
    user, at, host = authority.rpartition("@")
    address, _, after = host.rpartition("]")
    _, colon, port = (after if address else host).partition(":")
    return f"{user}{at}{NO_FOLDER.replace('/', '%2F')}{colon}{port}{slash}{rest}"


def _nothing(value: object) -> None:
    """Stands for a function that was checked already."""
