"""Results of `deliver` and `post`, and what `run_jobs` sends again."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import seconder
from seconder.testing import Sandbox

BUSY = seconder.Retry(reason="the gateway is busy")
LOST = seconder.Ambiguous("the connection was lost")
LATER = seconder.Retry(after=timedelta(seconds=20))
THROTTLED = seconder.NotAttempted(after=0.5, reason="10 messages were sent in this second")


class Gateway:
    """A function that returns, or raises, one outcome after the other."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.given: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.given.append(value)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@contextmanager
def world(*outcomes: Any) -> Iterator[tuple[Sandbox, seconder.Service, Gateway, int]]:
    """A sandbox with a user, and a service whose messages have these outcomes."""
    gateway = Gateway(*outcomes)
    with Sandbox(run_deliver=True) as sandbox:
        service = sandbox.open("sqlite:app.db", deliver=gateway)
        user = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        yield sandbox, service, gateway, user


@pytest.mark.parametrize("outcome", [BUSY, LOST, LATER, THROTTLED])
def test_a_message_is_sent_again_with_the_same_id_and_code(
    outcome: seconder.outcomes.Outcome,
) -> None:
    with world(outcome, "SM-1") as (sandbox, service, gateway, ada):
        service.request_sms(ada)
        assert service.run_jobs() == seconder.results.JobsRun()
        assert not sandbox.messages
        sandbox.advance(30)
        assert service.run_jobs() == seconder.results.JobsRun(sent=1)
        assert service.run_jobs() == seconder.results.JobsRun()
        first, second = gateway.given
        assert (first.id, first.code) == (second.id, second.code) and len(first.id) == 16
        assert sandbox.messages == (second,)
        service.verify(ada, sandbox.code(ada))


@pytest.mark.parametrize("outcome", [None, "", "SM-1", seconder.Sent(), seconder.Sent("SM-1")])
def test_a_message_was_sent(outcome: Any) -> None:
    with world(outcome) as (sandbox, service, gateway, ada):
        service.request_sms(ada)
        assert len(sandbox.messages) == len(gateway.given) == 1
        sandbox.advance(60)
        assert service.run_jobs() == seconder.results.JobsRun()


def test_the_caller_learns_why_a_message_failed_for_good() -> None:
    late = seconder.Retry(after=3600, reason="the gateway is very busy")
    outcomes = (seconder.Permanent("no such number"), late, ConnectionError("no route"))
    with world(*outcomes) as (sandbox, service, _gateway, ada):
        for reason, cause in (("such number", None), ("very busy", None), ("route", outcomes[2])):
            with pytest.raises(seconder.Unavailable, match=reason) as caught:
                service.request_sms(ada)
            assert caught.value.stage is seconder.enums.Stage.DELIVERY
            assert caught.value.__cause__ is cause
        sandbox.advance(60)
        assert service.run_jobs() == seconder.results.JobsRun()


@pytest.mark.parametrize("wrong", [True, 7, b"SM-1", {"id": "SM-1"}, object()])
def test_what_deliver_must_not_return_is_an_error(wrong: Any) -> None:
    with world(wrong) as (_, service, _gateway, ada):
        with pytest.raises(seconder.Unavailable) as caught:
            service.request_sms(ada)
        kind = type(wrong).__name__
        cause = caught.value.__cause__
        assert type(cause) is TypeError and str(cause) == (
            f"deliver must return None, the provider's id as text, or a seconder.outcomes.Outcome, not {kind}"
        )


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: seconder.Retry(after=-1), "after"),
        (lambda: seconder.Retry(after=True), "after"),
        (lambda: seconder.NotAttempted(after=-1), "after"),
        (lambda: seconder.Retry(after=float("nan")), "after"),
        (lambda: seconder.Retry(after=10**400), "after"),
        (lambda: seconder.Retry(after=timedelta(seconds=-1)), "after"),
        (lambda: seconder.Retry(after="5"), "after"),  # type: ignore[arg-type]
        (lambda: seconder.Retry(reason=None), "reason"),  # type: ignore[arg-type]
        (lambda: seconder.Permanent(503), "reason"),  # type: ignore[arg-type]
        (lambda: seconder.Ambiguous("\ud800"), "reason"),
        (lambda: seconder.Sent(7), "id"),  # type: ignore[arg-type]
    ],
)
def test_an_outcome_is_checked_where_it_is_made(make: Callable[[], object], parameter: str) -> None:
    with pytest.raises(seconder.InvalidArgument) as caught:
        make()
    assert caught.value.parameter == parameter


def test_outcomes_are_values() -> None:
    for outcome in (BUSY, LOST, THROTTLED, seconder.Sent("SM-1"), seconder.Permanent("gone")):
        assert pickle.loads(pickle.dumps(outcome)) == outcome and hash(outcome)
        assert isinstance(outcome, seconder.outcomes.Outcome)
        with pytest.raises(AttributeError):
            setattr(outcome, "reason", "other")  # noqa: B010


def test_a_provider_id_that_cannot_be_kept_is_an_error() -> None:
    with world("\ud800") as (_, service, _gateway, ada):
        with pytest.raises(seconder.Unavailable) as caught:
            service.request_sms(ada)
        assert type(caught.value.__cause__) is seconder.InvalidArgument


def test_an_outcome_is_logged_without_the_code_and_the_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def deliver(message: seconder.Message) -> seconder.outcomes.Outcome:
        return seconder.Retry(reason=f"cannot send {message.code} to {message.to}")

    with Sandbox(run_deliver=True) as sandbox, caplog.at_level(logging.WARNING, "seconder"):
        service = sandbox.open("sqlite:app.db", deliver=deliver)
        service.request_sms(service.create_user("ada@example.com", "555-010-0123", 1).user_id)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("seconder", "WARNING")
    assert record.getMessage() == "deliver returned Retry: cannot send [hidden] to [hidden]"


@pytest.mark.parametrize("budget", [0, 0.5, timedelta(seconds=3), timedelta(0)])
def test_a_budget_is_seconds_or_a_timedelta(budget: Any) -> None:
    with world() as (_, service, _gateway, _ada):
        assert service.run_jobs(budget) == seconder.results.JobsRun(more=not budget)


@pytest.mark.parametrize(
    "budget", [-1, "5", None, True, float("nan"), float("inf"), 10**400, timedelta(seconds=-1)]
)
def test_what_is_no_budget_is_rejected(budget: Any) -> None:
    with world() as (_, service, _gateway, _ada):
        with pytest.raises(seconder.InvalidArgument) as caught:
            service.run_jobs(budget)
        assert caught.value.parameter == "budget"


def test_a_remote_service_runs_its_own_jobs() -> None:
    with seconder.open("https://2fa.example.com", api_key="key") as service:
        with pytest.raises(seconder.InvalidArgument, match="remote service"):
            service.run_jobs()


def test_ctrl_c_ends_a_run_and_loses_no_message() -> None:
    with world(BUSY, BUSY, KeyboardInterrupt()) as (sandbox, service, gateway, ada):
        bob = service.create_user("bob@example.com", "555-010-0124", 1).user_id
        service.request_sms(ada)
        service.request_sms(bob)
        sandbox.advance(30)
        with pytest.raises(KeyboardInterrupt):
            service.run_jobs()
        assert len(gateway.given) == 3, "nothing else was begun"
        sandbox.advance(60)
        assert service.run_jobs() == seconder.results.JobsRun(sent=2)
        assert {message.to for message in gateway.given} == {"+15550100123", "+15550100124"}
        assert sandbox.code(ada) and sandbox.code(bob)


def test_a_cancelled_handle_begins_no_attempt() -> None:
    with world(BUSY) as (sandbox, service, gateway, ada):
        service.request_sms(ada)
        sandbox.advance(30)
        worker = service.with_timeout(5)
        worker.cancel()
        with pytest.raises(seconder.Cancelled):
            worker.run_jobs()
        assert len(gateway.given) == 1
        assert sandbox.run_jobs() == seconder.results.JobsRun(sent=1)


def approved(sandbox: Sandbox) -> Any:
    ada = sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id
    sandbox.service.create_approval(ada, "Log in?")
    return sandbox.approve(ada)


@pytest.mark.parametrize("outcome", [BUSY, LOST, ConnectionError("refused"), 7])
def test_a_callback_is_posted_again_with_the_same_id(outcome: Any) -> None:
    gateway = Gateway(outcome)
    with Sandbox(run_post=True) as sandbox:
        sandbox.open("sqlite:app.db", post=gateway)
        approved(sandbox)
        assert sandbox.run_jobs() == seconder.results.JobsRun()
        sandbox.advance(10)
        assert sandbox.run_jobs() == seconder.results.JobsRun(sent=1)
        first, second = gateway.given
        assert first.body == second.body
        same = {name for name in first.headers if first.headers[name] == second.headers[name]}
        assert same == {"Seconder-Delivery"} and len(first.headers) == 3
        assert [dict(each.headers) for each in sandbox.callbacks] == [
            {"Content-Type": "application/json", **each.headers} for each in gateway.given
        ]
        for callback in gateway.given:
            event = seconder.callback.verify(
                api_key=sandbox.api_key,
                url=callback.url,
                method="POST",
                fresh=None,
                body=callback.body,
                signature=callback.headers["X-Svc-Signature"],
                nonce=callback.headers["X-Svc-Signature-Nonce"],
            )
            assert event.status is seconder.enums.ApprovalStatus.APPROVED


@pytest.mark.parametrize("outcome", [None, "200 OK", seconder.Permanent("410")])
def test_a_callback_that_is_done_is_not_posted_again(outcome: Any) -> None:
    gateway = Gateway(outcome)
    with Sandbox(run_post=True) as sandbox:
        sandbox.open("sqlite:app.db", post=gateway)
        approved(sandbox)
        sandbox.advance(3600)
        assert sandbox.run_jobs() == seconder.results.JobsRun()
        assert len(gateway.given) == 1


def test_an_async_deliver_returns_an_outcome_too() -> None:
    gateway = Gateway(BUSY, "SM-1")

    async def deliver(message: seconder.Message) -> seconder.outcomes.Outcome | str | None:
        await asyncio.sleep(0)
        outcome: seconder.outcomes.Outcome | str | None = gateway(message)
        return outcome

    async def log_in(sandbox: Sandbox) -> None:
        async with sandbox.open_async("sqlite:app.db", deliver=deliver) as service:
            ada = (await service.create_user("ada@example.com", "555-010-0123", 1)).user_id
            await service.request_sms(ada)
            sandbox.advance(30)
            run = await service.run_jobs(timedelta(seconds=1))
            assert run == seconder.results.JobsRun(sent=1)
            await service.verify(ada, sandbox.code(ada))

    with Sandbox(run_deliver=True) as sandbox:
        asyncio.run(log_in(sandbox))
    assert gateway.given[0].id == gateway.given[1].id


def test_a_message_is_sent_again_from_a_file_by_another_process_of_the_application(
    tmp_path: Path,
) -> None:
    """With real waits; the first is over after 2.5 s."""
    url, first, second = f"sqlite:{tmp_path}/app.db", Gateway(BUSY), Gateway("SM-1")
    with seconder.open(url, deliver=first) as service:
        ada = service.create_user("ada@example.com", "555-010-0123", 1).user_id
        service.request_sms(ada)
    with seconder.open(url, deliver=second, deliver_timeout=20) as service:
        while not second.given:
            run = service.run_jobs(1)
            assert run.waiting == run.failed == 0
        service.verify(ada, second.given[0].code)
    assert second.given[0].id == first.given[0].id
