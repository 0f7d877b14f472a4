"""``on_call``: the application's function that gets the record of each call."""

from __future__ import annotations

from seconder._functions import checked
from seconder.records import CallRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def hook_of(
    on_call: Callable[[CallRecord], object] | None,
) -> Callable[[dict[str, Any]], None] | None:
    """Returns the function that the native module calls with the fields of a record."""
    if on_call is None:
        return None
    function = checked("on_call", on_call, may_await=False)

    def hook(fields: dict[str, Any]) -> None:
        try:
            result: Any = function(CallRecord._read(fields))
            if hasattr(result, "close") and hasattr(result, "__await__"):
                result.close()
        except Exception as error:
            import logging

            logging.getLogger("seconder").error("on_call failed", exc_info=error)

    return hook
