"""The operations of a test on a sandbox, which are the library's, wherever the sandbox is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from seconder import _seconder, errors
from seconder._calling import _moment
from seconder.enums import Channel, DeviceType
from seconder.names import Names
from seconder.records import ApprovalRequest, DeviceRegistered, JobsRun, Message
from seconder.testing._callbacks import Callback, made
from seconder.testing._faults import Fault, UnusedFault
from seconder.testing._shared import Waits

if TYPE_CHECKING:
    from seconder.aio import AsyncService

CLOSED = (
    "service is closed, and so is its sandbox: an application that keeps its service has to open it "
    "again in each test, for example after cache_clear()"
)


class Operations(Waits):
    """A sandbox, in this process or in another one, and the services that were opened from it."""

    def __init__(self, names: Names, settings: dict[str, Any], *, real_waits: bool) -> None:
        self.api_key: str = settings["api_key"]
        self.names = names
        self.post: Callable[[Callback], object] | None = None
        self.lock = threading.RLock()
        self._real_waits = real_waits
        self._closed = False
        self._opened: list[_seconder.Service] = []
        self._opened_async: list[AsyncService] = []

    def ask(self, operation: str, **params: Any) -> dict[str, Any]:
        """Carries out an operation, and returns its reply. Parameters that are None are left out.

        Raises:
            LookupError: There is nothing of what was asked for.
        """
        raise NotImplementedError

    # Services that the application opens.

    def keep(self, service: AsyncService) -> AsyncService:
        """Has the threads of a service end with the sandbox."""
        with self.lock:
            self._require_open()
            self._opened_async.append(service)
        return service

    def _require_open(self) -> None:
        """Raises if it is closed. Methods that open something hold the lock until it is recorded,
        so that it is closed too."""
        if self._closed:
            raise errors.InvalidArgument(CLOSED, parameter="service", retry_safe=True)

    # Actions of a test.

    def messages(self) -> tuple[tuple[Message, int | None], ...]:
        """Returns the messages that were sent, with the users to whom they went."""
        sent = self.ask("messages")["messages"]
        return tuple((_message(each), each["user_id"]) for each in reversed(sent))

    def recorded_callbacks(self) -> tuple[Callback, ...]:
        return tuple(_callback(each) for each in self.ask("callbacks")["callbacks"])

    def authenticator_code(self, user_id: int) -> str | None:
        """Returns the code that the user's app shows; None if there is no app."""
        try:
            return str(self.ask("authenticator_code", user_id=user_id)["code"])
        except LookupError:
            return None

    def add_device(self, user_id: int, device_type: DeviceType | str) -> DeviceRegistered:
        reply = self.ask("add_device", user_id=user_id, device_type=str(device_type))
        return DeviceRegistered(reply["device_id"], reply["secret"])

    def pending(self, user_id: int) -> tuple[ApprovalRequest, ...]:
        pending = self.ask("pending", user_id=user_id)["pending"]
        return tuple(ApprovalRequest._read(each) for each in pending)

    def respond(
        self,
        response: Literal["approve", "deny", "report"],
        user_id: int | None,
        uuid: str | None,
        number: str | None,
    ) -> Callback | None:
        """Responds to a request; None if the user has none."""
        try:
            reply = self.ask(response, user_id=user_id, uuid=uuid, number=number)
        except LookupError:
            return None
        return _callback(reply["callback"])

    def run_jobs(self) -> JobsRun:
        return JobsRun(**self.ask("run_jobs"))

    def inject(self, fault: Fault, **limits: Any) -> int:
        """Injects a fault, and returns its id."""
        return int(self.ask("failing", fault=str(fault), **limits)["id"])

    def end(self, fault: int) -> None:
        self.ask("end_fault", id=fault)

    def unused(self) -> tuple[UnusedFault, ...]:
        """Returns the faults that met fewer calls than they were to, in the order in which they were
        injected."""
        return tuple(
            UnusedFault(Fault(each["fault"]), tuple(each["calls"]), each["times"], each["met"])
            for each in self.ask("faults")["faults"]
            if each["met"] < (1 if each["times"] is None else each["times"])
        )


def _message(reply: dict[str, Any]) -> Message:
    expires_at = _moment(reply["expires_at"]) if reply["expires_at"] else None
    names = ("to", "text", "code", "id", "language")
    given = {name: reply[name] for name in names}
    return Message(via=Channel(reply["via"]), expires_at=expires_at, **given)


def _callback(reply: dict[str, Any]) -> Callback:
    return made(reply["url"], reply["body"].encode(), reply["headers"].items())
