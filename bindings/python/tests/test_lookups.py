"""Look-ups of numbers by a function of the application."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import seconder

KNOWN = {
    "1": seconder.results.PhoneLine(),
    "2": seconder.results.PhoneLine("Acme", seconder.enums.LineType.MOBILE, True),
    "3": seconder.results.PhoneLine(kind="voip"),
}


def opened(lookup: Any, **settings: Any) -> seconder.Service:
    engine = seconder.EngineOptions(**settings)
    return seconder.open("sandbox:?accept=right", lookup=lookup, engine=engine)


def info(service: seconder.Service, last: int) -> tuple[str, str | None, bool | None]:
    found = service.phone_info(f"202-555-012{last}", 1)
    return str(found.type), found.provider, found.ported


def test_what_a_function_returns_is_used_again() -> None:
    asked: list[str] = []

    def lookup(number: str) -> seconder.results.PhoneLine | None:
        asked.append(number)
        return KNOWN.get(number[-1])

    with opened(lookup) as service:
        for _ in range(2):
            assert info(service, 0) == ("unknown", "Unknown", False)
            assert info(service, 1) == ("unknown", "Unknown", False)
            assert info(service, 2) == ("cellphone", "Acme", True)
            assert info(service, 3) == ("voip", "Unknown", False)
    assert asked == [f"+1202555012{last}" for last in range(4)]


def test_numbers_of_types_that_are_refused_are_not_enrolled() -> None:
    with opened(lambda number: KNOWN[number[-1]], limits={"refuse": ["voip"]}) as service:
        with pytest.raises(seconder.Rejected, match="cellphone"):
            service.create_user("eve@example.com", "202-555-0123", 1)
        service.create_user("ada@example.com", "202-555-0122", 1)
    with opened(lambda number: KNOWN[number[-1]], limits={"refuse": []}) as service:
        service.create_user("eve@example.com", "202-555-0123", 1)


@pytest.mark.parametrize(
    "returned",
    [ValueError("no +12025550122"), {"kind": "voip"}, seconder.results.PhoneLine(kind="fax")],  # type: ignore[arg-type]
)
def test_a_function_that_fails_changes_no_reply(returned: Any, caplog: Any) -> None:
    def lookup(number: str) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    with opened(lookup) as service:
        assert info(service, 2) == ("unknown", "Unknown", False)
    assert "lookup failed" in caplog.text
    assert "2025550122" not in caplog.text


def test_an_interrupt_ends_the_call() -> None:
    def lookup(number: str) -> Any:
        raise KeyboardInterrupt

    with opened(lookup) as service, pytest.raises(KeyboardInterrupt):
        info(service, 2)


def test_what_is_no_function_is_rejected() -> None:
    async def later(number: str) -> None: ...

    for wrong in ("Acme", lambda: None, later):
        with pytest.raises(seconder.InvalidArgument) as caught:
            opened(wrong)
        assert caught.value.parameter == "lookup"


def test_an_async_function_runs_on_the_loop() -> None:
    async def lookup(number: str) -> seconder.results.PhoneLine | None:
        await asyncio.sleep(0)
        return KNOWN[number[-1]]

    async def main() -> str | None:
        url = "sandbox:?accept=right"
        async with seconder.open_async(url, lookup=lookup) as service:
            return (await service.phone_info("202-555-0122", 1)).provider

    assert asyncio.run(main()) == "Acme"
