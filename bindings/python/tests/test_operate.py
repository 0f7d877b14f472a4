"""Actions of operators, by the names of operations."""

from __future__ import annotations

import asyncio

import pytest
import seconder


def test_an_operation_has_parameters_and_a_reply() -> None:
    with seconder.open("sandbox:") as service:
        assert service.admin.operate("limits.set", limits="tries=3")["tries"] == 3
        assert service.admin.operate("limits.show")["tries"] == 3
        assert service.admin.operate("jobs.list", state=None) == {"entries": [], "next": None}
        service.admin.operate("route.set", name="one", settings='{"password":"hunter2"}')
        assert [route["name"] for route in service.admin.operate("route.list")["routes"]] == ["one"]
        assert service.admin.operate("route.remove", name="one") == {}


def test_errors_say_what_there_is() -> None:
    with seconder.open("sandbox:") as service:
        with pytest.raises(seconder.InvalidArgument, match=r"operation.*jobs\.list.*route\.set"):
            service.admin.operate("jobs.lists")
        with pytest.raises(seconder.InvalidArgument, match="number is no parameter of jobs.list"):
            service.admin.operate("jobs.list", number=1)
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.admin.operate("jobs.show")
        assert caught.value.parameter == "id"
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.admin.operate("jobs.show", id=object())
        assert caught.value.parameter == "id"


def test_a_remote_service_has_no_operations() -> None:
    with seconder.open("https://127.0.0.1:1", api_key="key") as remote:
        with pytest.raises(seconder.InvalidArgument, match="names a remote service"):
            remote.admin.operate("jobs.list")


def test_coroutines_carry_out_operations() -> None:
    async def operate() -> object:
        async with seconder.open_async("sandbox:") as service:
            return await service.admin.operate("route.set", name="call", settings="{}")

    assert asyncio.run(operate()) == {}
