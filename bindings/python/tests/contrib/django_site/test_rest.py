"""The permission for REST framework, and the responses to errors."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from rest_framework.test import APIRequestFactory

import seconder
from contrib.django_site.conftest import Person
from seconder.contrib.django import accounts, service
from seconder.contrib.django.rest import SecondFactorVerified, exception_handler
from seconder.testing import Sandbox

CODE = "application/json"


def test_the_permission_needs_a_code(ada: Person) -> None:
    assert ada.client.get("/api/secret/").status_code == 403
    ada.log_in()
    rejected = ada.client.get("/api/secret/")
    assert rejected.status_code == 403
    assert rejected.json() == {"detail": "A second factor is required."}
    assert ada.client.post("/api/verify/", {"code": ada.code()}, CODE).status_code == 204
    assert ada.client.get("/api/secret/").json() == "secret"


def test_a_password_alone_is_not_enough_with_the_session_of_another(
    ada: Person, bob: Person
) -> None:
    ada.log_in()
    ada.client.post("/api/verify/", {"code": ada.code()}, CODE)
    token = "Basic " + b64encode(b"bob:password").decode()
    # Without the cookie of a session, and with Ada's.
    assert bob.client.get("/api/secret/", headers={"Authorization": token}).status_code == 403
    request = APIRequestFactory().get("/")
    request.session = ada.client.session
    request.user = bob.user
    assert not SecondFactorVerified().has_permission(request, None)


def test_errors_have_their_status(ada: Person, bob: Person, sandbox: Sandbox) -> None:
    ada.log_in()
    for code, text in (("letters", "Please type the digits of the code."), ("0000000", "wrong")):
        wrong = ada.client.post("/api/verify/", {"code": code}, CODE)
        assert wrong.status_code == 400 and text in str(wrong.json()["code"])
    ada.code()
    for _ in range(4):
        ada.client.post("/api/verify/", {"code": "0000000"}, CODE)
    limited = ada.client.post("/api/verify/", {"code": "0000000"}, CODE)
    assert (limited.status_code, limited["Retry-After"]) == (429, "2")
    with sandbox.failing("unauthorized"):
        failed = ada.client.post("/api/verify/", {"code": "0000000"}, CODE)
    assert failed.status_code == 503 and "key" not in str(failed.json()).lower()
    bob.log_in()
    assert bob.client.post("/api/verify/", {"code": "0000000"}, CODE).status_code == 403


@pytest.mark.parametrize("error", [seconder.InvalidArgument("wrong"), ValueError("wrong")])
def test_mistakes_of_the_application_stay_exceptions(error: Exception) -> None:
    assert exception_handler(error, {}) is None


def test_the_time_can_be_limited(ada: Person) -> None:
    class Fresh(SecondFactorVerified):
        max_age = 0

    ada.log_in()
    ada.client.post("/api/verify/", {"code": ada.code()}, CODE)
    request = APIRequestFactory().get("/")
    request.session, request.user = ada.client.session, ada.user
    assert Fresh().has_permission(request, None) in (True, False)
    session = request.session
    session["seconder_verified"] = {**session["seconder_verified"], "at": 1}
    assert not Fresh().has_permission(request, None)
    assert SecondFactorVerified().has_permission(request, None)


def status_of(error: Exception) -> tuple[int, str]:
    response = exception_handler(error, {})
    assert response is not None
    return response.status_code, str(response.data)


def test_mistakes_of_the_user_are_no_failures(bob: Person, sandbox: Sandbox, ada: Person) -> None:
    number = "555-010-0123"

    def enrol(account: Any, number: str, code: str) -> tuple[int, str]:
        with pytest.raises(seconder.SecondFactorError) as caught:
            accounts.enrol(account, number, 1, code)
        return status_of(caught.value)

    accounts.start_enrolment(number, 1)
    status, text = enrol(bob.user, number, "0000")
    assert status == 400 and "code" in text and "wrong" in text
    assert enrol(ada.user, number, "0000")[0] == 409
    taken = sandbox.messages[0].to.rpartition(" ")[2].removeprefix("+1")
    sandbox.advance(31)
    accounts.start_enrolment(taken, 1)
    assert enrol(bob.user, taken, sandbox.code(taken))[0] == 409
    with pytest.raises(seconder.InvalidArgument) as caught:
        accounts.start_enrolment("letters", 1)
    assert status_of(caught.value)[0] == 400
    # This is for the operator: the enrolment is here, and the user is not there.
    with pytest.raises(seconder.UserNotFound) as lost:
        service().user_status(ada.user_id + 99)
    assert status_of(lost.value)[0] == 503
