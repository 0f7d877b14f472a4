"""FastAPI: the service of an application, dependencies for the second factor, and a router with its
endpoints.

>>> import fastapi
>>> from seconder.contrib.fastapi import SecondFactor, lifespan
>>> app = fastapi.FastAPI(lifespan=lifespan({"URL": "sandbox:"}))

The application supplies who is logging in, as a dependency, and what lets the user in, as a
function:

>>> class Login:
...     def __init__(self, name: str, user_id: int) -> None:
...         self.name, self.user_id = name, user_id
>>> def login(request: fastapi.Request) -> Login | None:
...     # The password was right; the session of the server says whose it was.
...     return SESSIONS.get(request.cookies.get("login"))
>>> def let_in(login: Login, request: fastapi.Request, response: fastapi.Response) -> None:
...     response.set_cookie("session", "a new session", httponly=True, samesite="lax")
>>> factor = SecondFactor(login)
>>> app.include_router(factor.router(let_in), prefix="/second")

Callbacks are in :mod:`seconder.contrib.asgi`.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import seconder
from seconder._frames import without
from seconder.callback import Replay
from seconder.contrib import FRESH_SECONDS, _visitor, is_fresh
from seconder.contrib._configured import function, options, resolved
from seconder.contrib._digits import digits
from seconder.contrib._receiver import Needs
from seconder.contrib._tickets import Tickets
from seconder.errors import ApprovalNotFound, InvalidArgument, RateLimited, Unavailable

with Needs(__name__, "FastAPI"):
    from fastapi import APIRouter, Depends, FastAPI, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.params import Depends as Dependency
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection

from seconder.contrib._problems import problem, refused_by, refusing

if TYPE_CHECKING:
    from seconder.aio import AsyncService
    from seconder.results import CodeRequested

__all__ = [
    "ApprovalAsked",
    "ApprovalPolled",
    "Code",
    "CodeSent",
    "LetIn",
    "LogsIn",
    "Problem",
    "SecondFactor",
    "add_error_handlers",
    "fresh_factor_required",
    "lifespan",
    "service",
    "user_ip",
]


class LogsIn(Protocol):
    """A login whose password was right: any object of the application with the id."""

    @property
    def user_id(self) -> int:
        """The user's id with the service, from the application's database."""


_L = TypeVar("_L", bound=LogsIn)


class Code(BaseModel):
    """A code that a user typed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    # No repr: FastAPI's frames hold this object, and error trackers send what frames hold.
    code: str = Field(
        max_length=64, repr=False, description="The code, as text. Spaces and dashes are ignored."
    )


class CodeSent(BaseModel):
    """A code is on its way, or was sent a moment ago."""

    sent_to: str | None = Field(
        default=None, description="The number, masked, or null if an earlier code is to be typed."
    )
    resend_after: int | None = Field(
        default=None,
        description="After how many seconds another one can be sent in this way, if it is known.",
    )


class LetIn(BaseModel):
    """The user was let in."""

    done: Literal[True] = True


class ApprovalAsked(BaseModel):
    """The user's devices show the approval request."""

    uuid: str = Field(description="The id of the request, for polling it. It is signed.")
    number: str | None = Field(
        default=None,
        description="The number to show, which the user types on the device to approve. Null for none.",
    )


class ApprovalPolled(BaseModel):
    """An approval request. Once it is approved, the user was let in."""

    status: str = Field(description="`pending`, `approved`, `denied` or `expired`.")
    result: Any = Field(default=None, description="The response of the login, once it is approved.")


class Reason(BaseModel):
    """The reason why a request was refused."""

    reason: str = Field(
        description="`no_login`, `code_wrong`, `code_used`, `code_malformed`, `no_such_approval`, "
        "`approval_used`, `not_possible`, `factor_not_fresh`, `rate_limited` or `unavailable`."
    )
    message: str = Field(description="A sentence in English.")


class Problem(BaseModel):
    """A request that was refused."""

    detail: Reason


def lifespan(
    settings: Mapping[str, object], prefix: str = ""
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Opens a service for as long as an application runs. The application can call the result in a
    lifespan of its own.

    Args:
        settings: The arguments of :func:`seconder.open_async`, in capitals: ``URL`` is required. A
            function can be given by its dotted path. Two more keys are ``THREADS``, and
            ``USER_IP``, a function of the request that returns the visitor's address or None, for
            :func:`user_ip`.
        prefix: The prefix of the keys. Keys without it are ignored, and unknown ones with it are
            rejected.

    Returns:
        The lifespan, for ``FastAPI(lifespan=…)``.

    Raises:
        InvalidArgument: A key is unknown or its value invalid by its form, or the URL is missing;
            ``parameter`` is the key.
    """
    given = options(settings, prefix, others=["THREADS", "USER_IP"])
    threads: Any = settings.get(prefix + "THREADS")
    if threads is not None:
        given["threads"] = threads
    visitor = settings.get(prefix + "USER_IP")
    if visitor is not None and not isinstance(visitor, str):
        function(prefix + "USER_IP", visitor)

    @contextlib.asynccontextmanager
    async def opened(app: FastAPI) -> AsyncIterator[None]:
        by = None if visitor is None else function(prefix + "USER_IP", visitor)
        async with seconder.open_async(**resolved(given)) as opened:
            app.state.seconder, app.state.seconder_user_ip = opened, by
            try:
                yield
            finally:
                del app.state.seconder, app.state.seconder_user_ip

    return opened


def service(connection: HTTPConnection) -> AsyncService:
    """A dependency: the service of the application that receives the request. Tests can replace it
    by ``app.dependency_overrides``.

    Args:
        connection: The request.

    Returns:
        The service.

    Raises:
        RuntimeError: The application was started without :func:`lifespan`.
    """
    found: AsyncService | None = getattr(connection.app.state, "seconder", None)
    if found is None:
        raise RuntimeError("start the application with seconder.contrib.fastapi.lifespan")
    return found


def user_ip(connection: HTTPConnection) -> str | None:
    """A dependency: the address of the visitor whose request is handled, for the argument ``user_ip``
    of calls.

    Args:
        connection: The request.

    Returns:
        What the function ``USER_IP`` of :func:`lifespan` returns. Without one, the address of the
        connection if that is public, and None if it is likely to be a proxy's.

    Raises:
        InvalidArgument: The function returned neither an IP address nor None.
    """
    return _visitor.of_request(
        connection,
        getattr(connection.app.state, "seconder_user_ip", None),
        "USER_IP",
        address=connection.client.host if connection.client else None,
        header=connection.headers.get,
    )


def fresh_factor_required(
    passed_at: Callable[..., Any], *, max_age: float = FRESH_SECONDS
) -> Callable[..., Awaitable[None]]:
    """Returns a dependency of endpoints that change what protects an account, such as those that add or
    remove an app, a phone number or recovery codes: a request of a session that has not passed the
    second factor a moment ago is a 403. Neither a stolen session nor one of last week is enough for such
    a change.

    Args:
        passed_at: The application's dependency that returns when the session has passed the second
            factor, in Unix seconds, or None if it has not.
        max_age: How long ago that may be, in seconds.

    Returns:
        The dependency, for ``Depends``.
    """

    async def fresh(at: Any = Depends(passed_at)) -> None:
        if not is_fresh(at, max_age):
            raise problem(403, "factor_not_fresh", "Enter a code first.")

    return fresh


def add_error_handlers(app: FastAPI) -> None:
    """Responds to a :class:`seconder.RateLimited` that no endpoint catches with a 429 and
    ``Retry-After``, and to a :class:`seconder.Unavailable` with a 503. Every other error stays a
    500. The router does not need it.

    Args:
        app: The application.
    """

    async def respond(request: Request, error: Exception) -> Response:
        refused = refused_by(error)
        assert refused is not None
        return JSONResponse({"detail": refused.detail}, refused.status_code, refused.headers)

    app.add_exception_handler(RateLimited, respond)
    app.add_exception_handler(Unavailable, respond)


class SecondFactor(Generic[_L]):
    """The second factor of an application's logins, for users whose password was right."""

    pending: Callable[..., Awaitable[_L]]
    """A dependency: the login that waits for its second factor, as the application returned it. A
    request without one is a 401."""
    verified: Callable[..., Awaitable[_L]]
    """A dependency: the login, if the code in the body (:class:`Code`) is right. A wrong one is a
    401, a limit a 429 with ``Retry-After``, and an unreachable service a 503."""

    def __init__(self, login: Callable[..., Any]) -> None:
        """Names the application's dependency.

        Args:
            login: Returns the login whose password was right, as an object with ``user_id``, or
                None if the request belongs to none. The id must come from the application's
                database, and which login it is from its session: nothing of the request may choose
                it freely.
        """

        async def pending(found: Any = Depends(login)) -> _L:
            if found is None:
                raise problem(401, "no_login", "Enter the password first.")
            given: _L = found
            return given

        async def verified(
            code: Code,
            found: Any = Depends(pending),
            opened: Any = Depends(service),
            visitor: Any = Depends(user_ip),
        ) -> _L:
            with refusing():
                # Not by a local variable: error trackers send them.
                await opened.verify(
                    found.user_id, digits(code.code), user_ip=visitor
                )
            given: _L = found
            return given

        self.pending = pending
        self.verified = verified

    def router(
        self,
        done: Callable[[_L, Request, Response], object],
        *,
        result: Any = LetIn,
        approval: str | None = None,
        approval_seconds: int = 300,
        number_digits: int | None = 2,
        used: Replay | None = None,
        secret: str | None = None,
        login_id: Callable[[_L], str] | None = None,
        callback: Callable[[Request], Awaitable[Response]] | None = None,
        dependencies: Sequence[Dependency] = (),
    ) -> APIRouter:
        """Returns a router with the endpoints of the second step.

        - ``POST /sms`` and ``POST /call`` send a code.
        - ``POST /verify`` checks a code, and lets the user in.
        - ``POST /approval`` asks the user's devices for an approval.
        - ``POST /approval/{uuid}`` polls that request, and lets the user in, once.
        - ``GET /callback`` and ``POST /callback`` receive callbacks.

        A request without a pending login and a wrong code are a 401, a request that cannot be
        carried out for the user a 400, another user's approval request a 404, a limit a 429 with
        ``Retry-After``, and an unreachable service a 503.

        Args:
            done: Lets the user in: it is called with the login after its second factor, the
                request, and the response on which it can set cookies. It must end the pending login
                and renew the session. What it returns is the response, and None a :class:`LetIn`.
                It may be ``async``; otherwise it runs in a thread.
            result: The model of what ``done`` returns.
            approval: The question of approval requests. Default: these endpoints do not exist.
            approval_seconds: How long such a request can be answered and can let the user in, in
                seconds: 1 or more.
            number_digits: The digits of the number that the user has to type on the device: 2, 3 or 6;
                0 for none, and None for as many as the application's limits say. Without one, a user
                may approve the request of an attacker who has the password.
            used: A memory that all processes share, such as those of
                :mod:`seconder.contrib.replay`, of the approvals that have let someone in. Required
                with ``approval``.
            secret: What signs the ids of approval requests, so that one counts only for the login
                that asked for it: text of at least 16 characters, the same in all processes.
                Required with ``approval``.
            login_id: Returns a text that only this login has, such as the random value of its
                cookie. Required with ``approval``.
            callback: The endpoint of callbacks, from :func:`seconder.contrib.asgi.callback`.
                Default: it does not exist.
            dependencies: Dependencies of all endpoints but that of callbacks, such as a check of
                forged requests.

        Returns:
            The router.

        Raises:
            InvalidArgument: There is ``approval`` without ``used``, ``secret`` or ``login_id``, or
                one of these, ``approval_seconds`` or ``number_digits`` is invalid.
        """
        login = APIRouter(
            dependencies=list(dependencies), responses=_RESPONSES, route_class=_Route
        )
        _add_codes(login, self, done, result)
        if approval is not None:
            if used is None:
                raise InvalidArgument("approvals need a memory of those used", parameter="used")
            if not callable(login_id):
                raise InvalidArgument("approvals need the id of a login", parameter="login_id")
            if number_digits not in (None, 0, 2, 3, 6):
                message = "number_digits must be 0, 2, 3, 6 or None"
                raise InvalidArgument(message, parameter="number_digits")
            tickets = Tickets(secret or "", approval_seconds)
            asked = {"seconds_to_expire": tickets.seconds, "number_digits": number_digits}
            _add_approvals(login, self, done, (approval, asked, tickets, used, login_id))
        router = APIRouter(tags=["second factor"])
        router.include_router(login)
        if callback is not None:
            for method in ("GET", "POST"):
                router.add_api_route(
                    "/callback",
                    callback,
                    methods=[method],
                    response_model=None,
                    name=f"callback_{method.lower()}",
                    summary="Receives a callback of the service",
                )
        return router


LATER = 3600
"""The time for which a used approval is remembered longer than needed, in seconds: the poll that
uses it may take long."""

_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "It is not possible for this user."},
    401: {"model": Problem, "description": "No login is pending, or the code is wrong."},
    429: {"model": Problem, "description": "A limit was reached: see `Retry-After`."},
    503: {"model": Problem, "description": "The service cannot be reached."},
}


class _Route(APIRoute):
    """An endpoint whose exceptions have no frames of its own and of FastAPI. Those hold the body with
    the code, and the request, which error trackers send with its headers and path."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns what handles a request."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                del request
                raise error.with_traceback(without(error, "fastapi", "seconder"))

        return handled


def _add_codes(router: APIRouter, factor: SecondFactor[Any], done: Any, result: Any) -> None:
    @router.post("/sms", summary="Sends a code by SMS")
    async def request_sms(
        login: Any = Depends(factor.pending),
        opened: Any = Depends(service),
        visitor: Any = Depends(user_ip),
    ) -> CodeSent:
        return await _sent(opened.request_sms(login.user_id, force=True, user_ip=visitor))

    @router.post("/call", summary="Calls with a code")
    async def request_call(
        login: Any = Depends(factor.pending),
        opened: Any = Depends(service),
        visitor: Any = Depends(user_ip),
    ) -> CodeSent:
        return await _sent(opened.request_call(login.user_id, force=True, user_ip=visitor))

    @router.post("/verify", summary="Checks a code, and lets the user in", response_model=result)
    async def verify(
        request: Request, response: Response, login: Any = Depends(factor.verified)
    ) -> Any:
        return await _let_in(done, login, request, response)


async def _sent(call: Awaitable[CodeRequested]) -> CodeSent:
    with refusing():
        try:
            sent = await call
        except RateLimited as error:
            # The user has typed the password twice: the code of a moment ago is for both.
            if error.limit != "cool_down" or error.retry_after is None:
                raise
            return CodeSent(resend_after=math.ceil(error.retry_after))
    return CodeSent(sent_to=sent.cellphone, resend_after=sent.resend_after)


def _add_approvals(
    router: APIRouter,
    factor: SecondFactor[Any],
    done: Any,
    settings: tuple[str, dict[str, Any], Tickets, Replay, Callable[[Any], str]],
) -> None:
    question, asked, tickets, used, login_id = settings

    @router.post("/approval", summary="Asks the user's devices for an approval")
    async def ask(
        login: Any = Depends(factor.pending), opened: Any = Depends(service)
    ) -> ApprovalAsked:
        with refusing():
            created = await opened.create_approval(login.user_id, question, **asked)
        ticket = tickets.issue(created.uuid, login.user_id, login_id(login))
        return ApprovalAsked(uuid=ticket, number=created.number)

    @router.post(
        "/approval/{uuid}",
        summary="Polls an approval request, and lets the user in once it is approved",
        responses={404: {"model": Problem, "description": "The login has no such request."}},
    )
    async def poll(
        request: Request,
        response: Response,
        uuid: Annotated[str, Path(max_length=256)],
        login: Any = Depends(factor.pending),
        opened: Any = Depends(service),
    ) -> ApprovalPolled:
        ticket, found = tickets.read(uuid, login.user_id, login_id(login)), None
        if ticket is not None and ticket.expired:
            return ApprovalPolled(status="expired")
        with refusing(), contextlib.suppress(ApprovalNotFound):
            if ticket is not None:
                found = await opened.check_approval(ticket.uuid)
        if ticket is None or found is None or found.user_id != login.user_id:
            raise problem(404, "no_such_approval", "The login has no such request.")
        if not found.approved_by(login.user_id):
            return ApprovalPolled(status=found.status.value)
        # The service returns the same approval every time. Somebody who learns the id later must
        # not log in with it.
        with refusing():
            key, until = f"used {ticket.uuid}", ticket.until + LATER
            first = await run_in_threadpool(used.first_time, key, until)
        if not first:
            raise problem(401, "approval_used", "The approval has let the user in before.")
        result = await _let_in(done, login, request, response)
        return ApprovalPolled(status=found.status.value, result=result)


async def _let_in(done: Any, login: Any, request: Request, response: Response) -> Any:
    if inspect.iscoroutinefunction(done):
        result = await done(login, request, response)
    else:
        result = await run_in_threadpool(done, login, request, response)
        if inspect.isawaitable(result):
            result = await result
    return LetIn() if result is None else result
