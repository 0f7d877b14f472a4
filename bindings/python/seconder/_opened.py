"""Opens a service with the arguments of :func:`seconder.open` or :func:`seconder.open_async`."""

from __future__ import annotations

from seconder import _seconder
from seconder._functions import carrier, checked, checked_limit, looker, poster
from seconder._hook import hook_of
from seconder.errors import InvalidArgument, SpoolWarning
from seconder.names import _given
from seconder.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def opened(given: dict[str, Any], *, may_await: bool) -> Service:
    """Opens a service with the arguments of ``open``."""
    url, scheme, settings, hook = _settings(given, may_await=may_await)
    service = Service(_seconder.open(url, settings), scheme)
    service._hook = hook
    # Settings hold keys, so they are kept where no traceback shows them.
    service._reopening = lambda: _settings(given, may_await=may_await)
    if scheme == "sqlite" and given["deliver"] is None:
        try:
            _warn_of_spool()
        except SpoolWarning:
            service.close()
            raise
    return service


def _settings(given: dict[str, Any], *, may_await: bool) -> tuple[Any, str, dict[str, Any], Any]:
    """The URL, its scheme, the settings as the native module takes them, and the hook."""
    settings = flat(given)
    url, names = settings.pop("url"), settings["names"]
    hook = hook_of(settings.pop("on_call"))
    deliver, post = settings["deliver"], settings["post"]
    limit = settings["deliver_timeout"] = checked_limit(settings["deliver_timeout"], deliver)
    if settings["limits"] is not None:
        settings["limits"] = _limits(settings["limits"])
    if settings["texts"] is not None:
        settings["texts"] = _texts(settings["texts"])
    if names is not None:
        settings["names"] = _given(names)
    if deliver is not None:
        settings["deliver"] = carrier(checked("deliver", deliver, may_await=may_await), limit)
    if post is not None:
        settings["post"] = poster(checked("post", post, may_await=may_await))
    if (lookup := settings["lookup"]) is not None:
        settings["lookup"] = looker(checked("lookup", lookup, may_await=may_await))
    return url, str(url).partition(":")[0].lower(), settings, hook


def flat(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``open``, with the options of ``client`` and ``engine`` among them."""
    # Imported on first use: most programs have neither object.
    from seconder.options import ClientOptions, EngineOptions

    settings = dict(given)
    for name, kind in (("client", ClientOptions), ("engine", EngineOptions)):
        options = settings.pop(name, None)
        if options is None:
            options = kind()
        elif not isinstance(options, kind):
            message = f"{name} must be a seconder.{kind.__name__}"
            raise InvalidArgument(message, parameter=name)
        settings.update({each: getattr(options, each) for each in kind._fields})
    return settings


def _limits(given: object) -> str:
    """Limits as the native module takes them."""
    if not hasattr(given, "items"):
        raise InvalidArgument("limits must be a mapping of names to numbers", parameter="limits")

    def text(name: str, value: object) -> str:
        if isinstance(value, (list, tuple)):
            return "+".join(map(str, value)) or ("none" if name in ("deny", "refuse") else "all")
        return str(value)

    return " ".join(f"{name}={text(name, value)}" for name, value in given.items())


def _texts(given: object) -> str:
    """Texts as the native module takes them."""
    import json

    message = "texts must be a mapping of languages to mappings of kinds to texts"
    if not hasattr(given, "items"):
        raise InvalidArgument(message, parameter="texts")
    plain = {
        language: dict(texts) if hasattr(texts, "items") else texts
        for language, texts in given.items()
    }
    try:
        return json.dumps(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(message, parameter="texts") from error


_warned = False


def _warn_of_spool() -> None:
    """Warns once in each process."""
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    message = (
        "this sqlite: service has no deliver function: nobody gets its messages, which are written "
        "to a folder beside the database"
    )
    # The caller of open(), past the frames of this package.
    warnings.warn(message, SpoolWarning, stacklevel=5)
