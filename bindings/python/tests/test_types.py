"""The types of the package. `mypy --strict` and pyright check this file, and reject an `ignore`
that is not needed; running it shows that the types are correct."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import seconder
from conftest import Phone

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, kind: object) -> object:
        """Checks the outermost type only: `datetime | None` is one of two."""
        kinds = [typing.get_origin(each) or each for each in typing.get_args(kind) or (kind,)]
        if typing.get_origin(kind) not in (None, typing.Union, type(int | str)):
            kinds = [typing.get_origin(kind)]
        assert isinstance(value, tuple(kinds)), (value, kind)
        return value


def test_results_have_types(phone: Phone) -> None:
    service = phone.service
    assert_type(service, seconder.Service)
    assert_type(service.with_timeout(1).with_repeats("none"), seconder.Service)
    user = assert_type(service.user_status(phone.user_id), seconder.results.UserStatus)
    assert_type(user.country_code, int | None)
    assert_type(user.devices, tuple[str, ...])
    assert_type(user.extra, Mapping[str, Any])
    created = service.create_approval(user.user_id, "Log in?")
    assert_type(created, seconder.results.ApprovalCreated)
    approval = assert_type(service.check_approval(created.uuid), seconder.results.Approval)
    assert_type(approval.status, seconder.enums.ApprovalStatus)
    assert_type(approval.created_at, datetime | None)
    assert_type(approval.approved_by(user.user_id), bool)
    assert_type(user.to_dict(), dict[str, Any])


def test_type_checkers_find_mistakes(phone: Phone) -> None:
    user = phone.service.user_status(phone.user_id)
    wrong: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: seconder.results.UserStatus(), TypeError),  # type: ignore[call-arg]
        (lambda: seconder.results.UserStatus(7, none=1), TypeError),  # type: ignore[call-arg]
        (lambda: phone.service.verify(7), TypeError),  # type: ignore[call-arg]
        (lambda: phone.service.verify(7, "1234567", True), TypeError),  # type: ignore[call-arg]
        (lambda: user.user_ids, AttributeError),  # type: ignore[attr-defined]
        (
            lambda: phone.service.register_activity(7, "dancing"),  # type: ignore[arg-type]
            seconder.InvalidArgument,
        ),
        (
            lambda: seconder.open(
                "sandbox:",
                client=seconder.ClientOptions(format="yaml"),  # type: ignore[arg-type]
            ),
            ValueError,
        ),
    ]
    for mistake, kind in wrong:
        with pytest.raises(kind):
            mistake()
    with pytest.raises(AttributeError):
        user.user_id = 8  # type: ignore[misc]


def test_results_can_be_matched_by_status(phone: Phone) -> None:
    request = phone.service.create_approval(phone.user_id, "Log in?")
    found = phone.service.check_approval(request.uuid)
    match found:
        case seconder.results.Approval(status=seconder.enums.ApprovalStatus.PENDING, uuid=uuid):
            assert_type(uuid, str | None)
        case _:
            pytest.fail("the request is not pending")
