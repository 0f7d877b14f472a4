"""A login with a second factor, in FastAPI: ``python fastapi_app.py``, then http://127.0.0.1:5000.

Functions that call the service are not ``async``, so that FastAPI runs them in threads.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

import uvicorn
from common import (
    BROWSER,
    CALLBACK_URL,
    FOLDER,
    HEADERS,
    NOT_APPROVED,
    NUMBER_DIGITS,
    PENDING_LIFE,
    PORT,
    SECRET,
    SECURE,
    SERVICE_URL,
    SESSION_LIFE,
    WRONG_PASSWORD,
    Problem,
    Refused,
    Sent,
    digits,
    explain,
    open_memory,
)
from demo_phone import DemoPhone
from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.sessions import SessionMiddleware
from users import Account, Accounts, SignUp

import seconder
from seconder.contrib import is_fresh
from seconder.contrib.asgi import callback

app = FastAPI(openapi_url=None)
opened = seconder.open(
    SERVICE_URL,
    engine=seconder.EngineOptions(application_name="Example", callback_url=CALLBACK_URL),
)


def service() -> seconder.Service:
    return opened


memory = open_memory()
accounts = Accounts(service)
phone = DemoPhone(service, accounts)
Typed = Annotated[str, Form()]


# Every page.


def csrf(request: Request) -> dict[str, str]:
    token = request.session.setdefault("csrf", secrets.token_urlsafe(32))
    return {"csrf_name": "csrf", "csrf_token": token}


def no_forged_forms(request: Request, csrf: Annotated[str, Form()] = "") -> None:
    held = request.session.get("csrf", "")
    if not held or not hmac.compare_digest(csrf.encode(), held.encode()):
        raise HTTPException(403)


forms = APIRouter(dependencies=[Depends(no_forged_forms)])
templates = Jinja2Templates(FOLDER / "templates", context_processors=[csrf])


def page(
    request: Request, template: str, problem: Problem | None = None, /, **context: object
) -> Response:
    shown = {"problem": problem, **context}
    if problem is None:
        return templates.TemplateResponse(request, template, shown)
    return templates.TemplateResponse(request, template, shown, problem.status, problem.headers)


@app.exception_handler(seconder.SecondFactorError)
def sorry(request: Request, error: seconder.SecondFactorError) -> Response:
    return page(request, "sorry.html", explain(error))


def visitor(request: Request) -> str:
    """Returns the visitor's address, by which the service limits messages and wrong codes. It is that of
    the connection, because browsers connect to this application. Behind a proxy, that would be the
    proxy's for all visitors."""
    if request.client is None:
        raise HTTPException(400)
    return request.client.host


Visitor = Annotated[str, Depends(visitor)]


def go(path: str) -> Response:
    return RedirectResponse(path, 303)


@app.middleware("http")
async def headers(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    response = await call_next(request)
    response.headers.update(HEADERS)
    return response


app.add_middleware(RequestBodyLimitMiddleware, max_body_size=2**20)
app.add_middleware(
    SessionMiddleware,
    secret_key=SECRET,
    same_site="lax",
    https_only=SECURE,
    max_age=SESSION_LIFE,
)


# The password.


@app.get("/login")
def login_page(request: Request) -> Response:
    name = request.session.get("new")
    return page(request, "login.html", name=name, new=name is not None)


@forms.post("/login")
def login(request: Request, name: Typed = "", password: Typed = "") -> Response:
    account = accounts.with_password(name, password)
    if account is None:
        return page(request, "login.html", WRONG_PASSWORD, name=name)
    token = request.cookies.get(BROWSER)
    if token and service().recognise(account.user_id, token):
        logging.warning("user %s logged in with a remembered browser", account.user_id)
        return log_in(request, account, proven=False)
    leave(request)
    hold(request, account)
    return go("/second")


def leave(request: Request) -> None:
    """Ends the visitor's session, on the server too."""
    accounts.end_session(request.session.get("session"))
    request.session.clear()


def hold(request: Request, account: Account) -> None:
    """Has the second step follow for the user."""
    request.session.update(pending=account.name, until=time.time() + PENDING_LIFE)


def pending(request: Request) -> Account:
    """Returns the user with a right password who has not passed the second factor yet."""
    account = accounts.get(request.session.get("pending"))
    if account is None or request.session["until"] < time.time():
        raise HTTPException(303, headers={"Location": "/login"})
    if not accounts.may_go_on(account, request.session.get("session")):
        raise HTTPException(303, headers={"Location": "/login"})
    return account


def log_in(request: Request, account: Account, *, proven: bool = True) -> Response:
    """The only place that lets a user in, who has proven the second factor now or, in a remembered
    browser, earlier. Nothing of the login is kept in the session."""
    leave(request)
    at = time.time() if proven else None
    request.session.update(session=accounts.begin_session(account), proven=at)
    return go("/")


Pending = Annotated[Account, Depends(pending)]


# Signing up. The number is verified before anybody is enrolled: it may be somebody else's.


@app.get("/signup")
def signup_page(request: Request) -> Response:
    return page(request, "signup.html")


@forms.post("/signup")
def signup(
    request: Request,
    visitor: Visitor,
    name: Typed = "",
    password: Typed = "",
    email: Typed = "",
    cellphone: Typed = "",
) -> Response:
    user = SignUp(name, password, email, cellphone)
    try:
        ticket = accounts.begin(user, visitor)
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "signup.html", explain(error, sending=True), typed=user)
    leave(request)
    request.session["signup"] = ticket
    return go("/signup/code")


def sent_code(request: Request) -> Sent:
    """Returns the code that was sent to the visitor who is signing up."""
    sent = accounts.sent(request.session.get("signup"))
    if sent is None:
        raise HTTPException(303, headers={"Location": "/signup"})
    return sent


SentCode = Annotated[Sent, Depends(sent_code)]


@app.get("/signup/code")
def signup_code_page(request: Request, sent: SentCode) -> Response:
    return page(request, "number.html", sent=sent)


@forms.post("/signup/again")
def signup_again(request: Request, visitor: Visitor, sent: SentCode) -> Response:
    try:
        accounts.send_again(request.session["signup"], visitor)
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "number.html", explain(error, sending=True), sent=sent)
    return go("/signup/code")


@forms.post("/signup/code", dependencies=[Depends(sent_code)])
def signup_code(request: Request, code: Typed = "") -> Response:
    ticket = request.session["signup"]
    try:
        name = accounts.finish(ticket, digits(code))
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "number.html", explain(error), sent=accounts.sent(ticket))
    leave(request)
    request.session["new"] = name
    return go("/login")


# The second factor.


@app.get("/second")
def second(request: Request, account: Pending) -> Response:
    return second_page(request, account)


def second_page(request: Request, account: Account, problem: Problem | None = None) -> Response:
    ways = accounts.ways(account)
    return page(request, "second.html", problem, account=account, ways=ways)


@forms.post("/second/sms")
def second_sms(request: Request, visitor: Visitor, account: Pending) -> Response:
    try:
        sent = service().request_sms(account.user_id, force=True, user_ip=visitor)
    except seconder.SecondFactorError as error:
        return code_page(request, account, explain(error, sending=True))
    Sent.keep(request.session, sent)
    return go("/second/code")


def code_page(
    request: Request, account: Account, problem: Problem | None = None, remember: str = ""
) -> Response:
    shown = {"sent": Sent.kept(request.session), "ways": accounts.ways(account)}
    return page(request, "code.html", problem, remember=remember, **shown)


@app.get("/second/code")
def second_code_page(request: Request, account: Pending) -> Response:
    return code_page(request, account)


@forms.post("/second/code")
def second_code(
    request: Request,
    visitor: Visitor,
    account: Pending,
    code: Typed = "",
    remember: Typed = "",
) -> Response:
    try:
        # Without `force`, the first code of a new user would not be checked.
        service().verify(account.user_id, digits(code), user_ip=visitor)
    except seconder.SecondFactorError as error:
        return code_page(request, account, explain(error), remember)
    response = log_in(request, account)
    if remember:
        browser = service().remember(account.user_id)
        response.set_cookie(
            BROWSER,
            browser.token,
            expires=browser.expires_at,
            secure=SECURE,
            httponly=True,
            samesite="lax",
        )
    return response


@forms.post("/second/push")
def second_push(request: Request, account: Pending) -> Response:
    details = {"Name": account.name, "Address": request.client.host if request.client else ""}
    try:
        created = service().create_approval(
            account.user_id,
            "Log in to Example?",
            details=details,
            seconds_to_expire=120,
            number_digits=NUMBER_DIGITS,
        )
    except seconder.SecondFactorError as error:
        return second_page(request, account, explain(error))
    request.session.update(approval=created.uuid, number=created.number)
    return go("/second/push")


@app.get("/second/push")
def second_push_page(request: Request, account: Pending) -> Response:
    return page(request, "push.html", number=request.session.get("number"))


@app.get("/second/push/status")
def second_push_status(request: Request, account: Pending) -> dict[str, str]:
    uuid = request.session.get("approval")
    if uuid is None:
        raise HTTPException(404)
    return {"status": service().check_approval(uuid).status}


@forms.post("/second/push/finish")
def second_push_finish(request: Request, account: Pending) -> Response:
    uuid = request.session.get("approval")
    if uuid is None:
        return go("/second")
    approval = service().check_approval(uuid)
    if approval.status is seconder.enums.ApprovalStatus.PENDING:
        return page(request, "push.html", early=True, number=request.session.get("number"))
    # Only this user's approval counts, and it lets the user in once.
    until = request.session["until"]
    if approval.approved_by(account.user_id) and memory.first_time(uuid, until):
        return log_in(request, account)
    return second_page(request, account, NOT_APPROVED)


@callback(api_key=service().admin.api_key(), url=CALLBACK_URL, replay=memory)
async def answered(event: seconder.results.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


app.add_route("/seconder/callback", answered, methods=["GET", "POST"])


# For users who are logged in.


def user(request: Request) -> Account:
    account = accounts.in_session(request.session.get("session"))
    if account is None:
        raise HTTPException(303, headers={"Location": "/login"})
    return account


User = Annotated[Account, Depends(user)]


def fresh(request: Request) -> bool:
    """Whether the second factor was proven in this session, and a moment ago."""
    return is_fresh(request.session.get("proven"))


def proven(request: Request, account: User) -> Account:
    """Returns the user, if the second factor was proven in this session a moment ago. Otherwise it is
    asked for first: neither an old session nor a remembered browser changes what protects the account."""
    if not fresh(request):
        hold(request, account)
        raise HTTPException(303, headers={"Location": "/second"})
    return account


def end_others(request: Request, account: Account) -> None:
    """Ends the user's other sessions, after a change of what protects the account."""
    accounts.end_other_sessions(account, request.session.get("session"))


Proven = Annotated[Account, Depends(proven)]


@app.get("/")
def home(request: Request, account: User) -> Response:
    return home_page(request, account)


def home_page(request: Request, account: Account, problem: Problem | None = None) -> Response:
    shown = {"account": account, "ways": accounts.ways(account)}
    return page(request, "home.html", problem, proven=fresh(request), **shown)


@forms.post("/authenticator")
def enrol(account: Proven) -> Response:
    accounts.enrol_authenticator(account)
    return go("/authenticator")


@app.get("/authenticator")
def authenticator(request: Request, account: Proven) -> Response:
    return authenticator_page(request, account)


def authenticator_page(
    request: Request, account: Account, problem: Problem | None = None
) -> Response:
    enrolment = accounts.enrolment(account)
    if enrolment is None:
        return go("/")
    return page(request, "authenticator.html", problem, account=account, enrolment=enrolment)


@forms.post("/authenticator/confirm")
def confirm(request: Request, account: Proven, code: Typed = "") -> Response:
    try:
        accounts.confirm_authenticator(account, code)
    except seconder.SecondFactorError as error:
        return authenticator_page(request, account, explain(error))
    end_others(request, account)
    return go("/")


@forms.post("/remove")
def remove(request: Request, account: Proven, way: Typed = "") -> Response:
    try:
        accounts.remove(account, way)
    except Refused as error:
        return home_page(request, account, error.problem)
    end_others(request, account)
    return go("/")


@forms.post("/device")
def device(request: Request, account: Proven) -> Response:
    invited = accounts.add_device(account)
    end_others(request, account)
    return page(request, "invite.html", invited=invited) if invited else go("/")


@forms.post("/recovery")
def recovery(request: Request, account: Proven) -> Response:
    codes = accounts.create_recovery_codes(account)
    end_others(request, account)
    return page(request, "recovery.html", codes=codes)


@forms.post("/browsers/forget")
def forget_browsers(request: Request, account: User) -> Response:
    # This needs no code: whoever is worried about a browser must not have to look for a phone.
    service().forget(account.user_id)
    end_others(request, account)
    return go("/")


@forms.post("/logout")
def logout(request: Request) -> Response:
    leave(request)
    return go("/login")


# Demo: the users' phone.


@app.get("/demo/phone")
def phone_page(request: Request) -> Response:
    return page(request, "phone.html", **phone.page())


@forms.post("/demo/phone")
def phone_answer(
    request: Request, uuid: Typed = "", answer: Typed = "", number: Typed = ""
) -> Response:
    problem = phone.answer(uuid, answer == "approve", number)
    return page(request, "phone.html", problem, **phone.page()) if problem else go("/demo/phone")


app.include_router(forms)
app.mount("/static", StaticFiles(directory=FOLDER / "static"))

if __name__ == "__main__":
    # No proxy is in front of it, so no header says who the visitor is.
    uvicorn.run(app, port=PORT, proxy_headers=False)
