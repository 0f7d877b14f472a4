"""A login with a second factor, in Flask: ``python flask_app.py``, then http://127.0.0.1:5000."""

from __future__ import annotations

import hmac
import logging
import secrets

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
    WRONG_PASSWORD,
    Problem,
    Refused,
    Sent,
    digits,
    explain,
    open_memory,
)
from demo_phone import DemoPhone
from flask import (
    Flask,
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    session,
)
from users import Account, Accounts, SignUp
from werkzeug.wrappers import Response as Reply

import seconder
from seconder.contrib import FRESH_SECONDS
from seconder.contrib.flask import Seconder, callback

app = Flask(__name__, root_path=str(FOLDER))
app.config.update(
    SECRET_KEY=SECRET,
    SESSION_COOKIE_SAMESITE="Lax",
    SESSION_COOKIE_SECURE=SECURE,
    MAX_CONTENT_LENGTH=2**20,
    SECONDER_URL=SERVICE_URL,
    SECONDER_APPLICATION_NAME="Example",
    SECONDER_CALLBACK_URL=CALLBACK_URL,
    SECONDER_HOLD_SECONDS=PENDING_LIFE,
    SECONDER_PASSWORD_VIEW="login_page",
    # The address of the connection, because browsers connect to this application. Behind a proxy, that
    # would be the proxy's for all visitors.
    SECONDER_USER_IP=lambda request: request.remote_addr,
)
second_factor = Seconder(app)


def service() -> seconder.Service:
    """Returns the service, also where there is no request."""
    with app.app_context():
        return second_factor.service


memory = open_memory()
accounts = Accounts(service)
phone = DemoPhone(service, accounts)


def page(template: str, problem: Problem | None = None, /, **context: object) -> Response:
    response = make_response(render_template(template, problem=problem, **context))
    if problem:
        response.status_code = problem.status
        response.headers.update(problem.headers)
    return response


def typed(name: str) -> str:
    return request.form.get(name, "")


def visitor() -> str:
    """Returns the visitor's address, by which the service limits messages and wrong codes."""
    return second_factor.user_ip or abort(400)


# The password.


@app.get("/login")
def login_page() -> Response:
    return page("login.html", name=session.get("new"), new="new" in session)


@app.post("/login")
def login() -> Reply:
    account = accounts.with_password(typed("name"), typed("password"))
    if account is None:
        return page("login.html", WRONG_PASSWORD, name=typed("name"))
    leave()
    token = request.cookies.get(BROWSER)
    if token and service().recognise(account.user_id, token):
        logging.warning("user %s logged in with a remembered browser", account.user_id)
        return log_in(account)
    second_factor.hold(account.name, account.user_id)
    return redirect("/second", 303)


def leave() -> None:
    """Ends the visitor's session, on the server too."""
    accounts.end_session(session.get("session"))
    session.clear()


def pending() -> Account:
    """Returns the user with a right password who has not passed the second factor yet."""
    account = accounts.get(second_factor.require_held().account)
    if account is None or not accounts.may_go_on(account, session.get("session")):
        abort(redirect("/login", 303))
    return account


def log_in(account: Account) -> Reply:
    """The only place that lets a user in. The session is new and holds nothing of the login: only
    whether the second factor was proven now, or earlier in a remembered browser."""
    accounts.end_session(session.get("session"))
    session["session"] = accounts.begin_session(account)
    return redirect("/", 303)


# Signing up. The number is verified before anybody is enrolled: it may be somebody else's.


@app.get("/signup")
def signup_page() -> Response:
    return page("signup.html")


@app.post("/signup")
def signup() -> Reply:
    user = SignUp(*(typed(name) for name in ("name", "password", "email", "cellphone")))
    try:
        ticket = accounts.begin(user, visitor())
    except (Refused, seconder.SecondFactorError) as error:
        return page("signup.html", explain(error, sending=True), typed=user)
    leave()
    session["signup"] = ticket
    return redirect("/signup/code", 303)


def sent_code() -> Sent:
    """Returns the code that was sent to the visitor who is signing up."""
    return accounts.sent(session.get("signup")) or abort(redirect("/signup", 303))


@app.get("/signup/code")
def signup_code_page() -> Response:
    return page("number.html", sent=sent_code())


@app.post("/signup/again")
def signup_again() -> Reply:
    sent = sent_code()
    try:
        accounts.send_again(session["signup"], visitor())
    except (Refused, seconder.SecondFactorError) as error:
        return page("number.html", explain(error, sending=True), sent=sent)
    return redirect("/signup/code", 303)


@app.post("/signup/code")
def signup_code() -> Reply:
    sent_code()
    ticket = session["signup"]
    try:
        name = accounts.finish(ticket, digits(typed("code")))
    except (Refused, seconder.SecondFactorError) as error:
        return page("number.html", explain(error), sent=accounts.sent(ticket))
    leave()
    session["new"] = name
    return redirect("/login", 303)


# The second factor.


@app.get("/second")
def second() -> Response:
    return second_page(pending())


def second_page(account: Account, problem: Problem | None = None) -> Response:
    return page("second.html", problem, account=account, ways=accounts.ways(account))


@app.post("/second/sms")
def second_sms() -> Reply:
    account = pending()
    try:
        sent = service().request_sms(account.user_id, force=True, user_ip=visitor())
    except seconder.SecondFactorError as error:
        return code_page(account, explain(error, sending=True))
    Sent.keep(session, sent)
    return redirect("/second/code", 303)


def code_page(account: Account, problem: Problem | None = None) -> Response:
    shown = {"sent": Sent.kept(session), "remember": typed("remember")}
    return page("code.html", problem, ways=accounts.ways(account), **shown)


@app.get("/second/code")
def second_code_page() -> Response:
    return code_page(pending())


@app.post("/second/code")
def second_code() -> Reply:
    account = pending()
    try:
        second_factor.verify(typed("code"), keep=["session"])
    except seconder.SecondFactorError as error:
        return code_page(account, explain(error))
    response = log_in(account)
    if typed("remember"):
        browser = service().remember(account.user_id)
        response.set_cookie(
            BROWSER,
            browser.token,
            expires=browser.expires_at,
            secure=SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


@app.post("/second/push")
def second_push() -> Reply:
    account = pending()
    details = {"Name": account.name, "Address": request.remote_addr}
    try:
        created = second_factor.request_approval(
            "Log in to Example?",
            details=details,
            seconds_to_expire=120,
            number_digits=NUMBER_DIGITS,
        )
    except seconder.SecondFactorError as error:
        return second_page(account, explain(error))
    session["number"] = created.number
    return redirect("/second/push", 303)


@app.get("/second/push")
def second_push_page() -> Response:
    pending()
    return page("push.html", number=session.get("number"))


@app.get("/second/push/status")
def second_push_status() -> dict[str, str]:
    pending()
    uuid = second_factor.require_held().uuid or abort(404)
    return {"status": service().check_approval(uuid).status}


@app.post("/second/push/finish")
def second_push_finish() -> Reply:
    account = pending()
    if second_factor.require_held().uuid is None:
        return redirect("/second", 303)
    # Only this user's approval counts, and it lets the user in once.
    approval, login = second_factor.check_approval(memory, keep=["session"])
    if approval.status is seconder.enums.ApprovalStatus.PENDING:
        return page("push.html", early=True, number=session.get("number"))
    return second_page(account, NOT_APPROVED) if login is None else log_in(account)


@app.route("/seconder/callback", methods=["GET", "POST"])
@callback(api_key=service().admin.api_key(), url=CALLBACK_URL, replay=memory)
def answered(event: seconder.results.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


# For users who are logged in.


def user() -> Account:
    return accounts.in_session(session.get("session")) or abort(redirect("/login", 303))


def fresh(account: Account) -> bool:
    """Whether the second factor was proven in this session, and a moment ago."""
    return second_factor.passed(account.name, max_age=FRESH_SECONDS)


def proven() -> Account:
    """Returns the user, if the second factor was proven in this session a moment ago. Otherwise it is
    asked for first: neither an old session nor a remembered browser changes what protects the account."""
    account = user()
    if not fresh(account):
        second_factor.hold(account.name, account.user_id, keep=["session", "csrf"])
        abort(redirect("/second", 303))
    return account


def end_others(account: Account) -> None:
    """Ends the user's other sessions, after a change of what protects the account."""
    accounts.end_other_sessions(account, session.get("session"))


@app.get("/")
def home() -> Response:
    return home_page(user())


def home_page(account: Account, problem: Problem | None = None) -> Response:
    shown = {"account": account, "ways": accounts.ways(account)}
    return page("home.html", problem, proven=fresh(account), **shown)


@app.post("/authenticator")
def enrol() -> Reply:
    accounts.enrol_authenticator(proven())
    return redirect("/authenticator", 303)


@app.get("/authenticator")
def authenticator() -> Response:
    return authenticator_page(proven())


def authenticator_page(account: Account, problem: Problem | None = None) -> Response:
    enrolment = accounts.enrolment(account) or abort(redirect("/", 303))
    return page("authenticator.html", problem, account=account, enrolment=enrolment)


@app.post("/authenticator/confirm")
def confirm() -> Reply:
    account = proven()
    try:
        accounts.confirm_authenticator(account, typed("code"))
    except seconder.SecondFactorError as error:
        return authenticator_page(account, explain(error))
    end_others(account)
    return redirect("/", 303)


@app.post("/remove")
def remove() -> Reply:
    account = proven()
    try:
        accounts.remove(account, typed("way"))
    except Refused as error:
        return home_page(account, error.problem)
    end_others(account)
    return redirect("/", 303)


@app.post("/device")
def device() -> Reply:
    account = proven()
    invited = accounts.add_device(account)
    end_others(account)
    return page("invite.html", invited=invited) if invited else redirect("/", 303)


@app.post("/recovery")
def recovery() -> Response:
    account = proven()
    codes = accounts.create_recovery_codes(account)
    end_others(account)
    return page("recovery.html", codes=codes)


@app.post("/browsers/forget")
def forget_browsers() -> Reply:
    # This needs no code: whoever is worried about a browser must not have to look for a phone.
    account = user()
    service().forget(account.user_id)
    end_others(account)
    return redirect("/", 303)


@app.post("/logout")
def logout() -> Reply:
    leave()
    return redirect("/login", 303)


# Every page.


@app.errorhandler(seconder.RateLimited)
@app.errorhandler(seconder.Unavailable)
def sorry(error: seconder.SecondFactorError) -> Response:
    return page("sorry.html", explain(error))


@app.context_processor
def csrf() -> dict[str, str]:
    token = session.setdefault("csrf", secrets.token_urlsafe(32))
    return {"csrf_name": "csrf", "csrf_token": token}


@app.before_request
def no_forged_forms() -> None:
    # The callback comes from the service, which has no session: its signature protects it.
    if request.method == "POST" and request.endpoint != "answered":
        sent, held = request.form.get("csrf", ""), session.get("csrf", "")
        if not held or not hmac.compare_digest(sent.encode(), held.encode()):
            abort(403)


@app.after_request
def headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


# Demo: the users' phone.


@app.get("/demo/phone")
def phone_page() -> Response:
    return page("phone.html", **phone.page())


@app.post("/demo/phone")
def phone_answer() -> Reply:
    yes = typed("answer") == "approve"
    problem = phone.answer(typed("uuid"), yes, typed("number"))
    return page("phone.html", problem, **phone.page()) if problem else redirect("/demo/phone", 303)


if __name__ == "__main__":
    app.run(port=PORT)
