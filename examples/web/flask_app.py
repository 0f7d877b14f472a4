"""A login with a second factor, in Flask: ``python flask_app.py``, then http://127.0.0.1:5000."""

from __future__ import annotations

import hmac
import logging
import secrets
import time

from common import (
    CALLBACK_URL,
    FOLDER,
    HEADERS,
    NOT_APPROVED,
    NOT_FROM_AN_APP,
    PENDING_LIFE,
    PORT,
    PUBLIC_URL,
    SECRET,
    WRONG_PASSWORD,
    Account,
    Accounts,
    DemoPhone,
    NotSignedUp,
    Problem,
    SignUp,
    digits,
    explain,
    is_from_an_app,
    open_memory,
    open_service,
)
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
from werkzeug.wrappers import Response as Reply

import seconder
from seconder.contrib.flask import callback

app = Flask(__name__, root_path=str(FOLDER))
app.config.update(
    SECRET_KEY=SECRET,
    SESSION_COOKIE_SAMESITE="Lax",
    SESSION_COOKIE_SECURE=PUBLIC_URL.startswith("https:"),
    MAX_CONTENT_LENGTH=2**20,
)
service = open_service()
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


# The password.


@app.get("/login")
def login_page() -> Response:
    return page("login.html", name=session.get("new"), new="new" in session)


@app.post("/login")
def login() -> Reply:
    account = accounts.with_password(typed("name"), typed("password"))
    if account is None:
        return page("login.html", WRONG_PASSWORD, name=typed("name"))
    session.clear()
    session.update(pending=account.name, until=time.time() + PENDING_LIFE)
    return redirect("/second", 303)


def pending() -> Account:
    """Returns the user with a right password who has not passed the second factor yet."""
    account = accounts.get(session.get("pending"))
    if account is None or session["until"] < time.time():
        abort(redirect("/login", 303))
    return account


def log_in(account: Account) -> Reply:
    """The only place that lets a user in. Nothing of the login is kept in the session."""
    session.clear()
    session["user"] = account.name
    return redirect("/", 303)


# Signing up. The number is verified before anybody is enrolled: it may be somebody else's.


@app.get("/signup")
def signup_page() -> Response:
    return page("signup.html")


@app.post("/signup")
def signup() -> Reply:
    user = SignUp(*(typed(name) for name in ("name", "password", "email", "cellphone")))
    try:
        ticket = accounts.begin(user)
    except (NotSignedUp, seconder.SecondFactorError) as error:
        return page("signup.html", explain(error), typed=user)
    session.clear()
    session["signup"] = ticket
    return redirect("/signup/code", 303)


def number() -> str:
    """Returns the number of the visitor who is signing up."""
    return accounts.number(session.get("signup")) or abort(redirect("/signup", 303))


@app.get("/signup/code")
def signup_code_page() -> Response:
    return page("number.html", number=number())


@app.post("/signup/again")
def signup_again() -> Reply:
    sent = number()
    try:
        accounts.send_again(session["signup"])
    except (NotSignedUp, seconder.SecondFactorError) as error:
        return page("number.html", explain(error, sending=True), number=sent)
    return redirect("/signup/code", 303)


@app.post("/signup/code")
def signup_code() -> Reply:
    number()
    ticket = session["signup"]
    try:
        name = accounts.finish(ticket, digits(typed("code")))
    except (NotSignedUp, seconder.SecondFactorError) as error:
        return page("number.html", explain(error), number=accounts.number(ticket))
    session.clear()
    session["new"] = name
    return redirect("/login", 303)


# The second factor.


@app.get("/second")
def second() -> Response:
    return page("second.html", account=pending())


@app.post("/second/sms")
def second_sms() -> Reply:
    account = pending()
    try:
        sent = service.request_sms(account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return code_page(account, explain(error, sending=True))
    session["sent"] = sent.cellphone
    return redirect("/second/code", 303)


def code_page(account: Account, problem: Problem | None = None) -> Response:
    return page("code.html", problem, account=account, sent=session.get("sent"))


@app.get("/second/code")
def second_code_page() -> Response:
    return code_page(pending())


@app.post("/second/code")
def second_code() -> Reply:
    account = pending()
    try:
        # Without `force`, the first code of a new user would not be checked.
        service.verify(digits(typed("code")), account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return code_page(account, explain(error))
    return log_in(account)


@app.post("/second/push")
def second_push() -> Reply:
    account = pending()
    details = {"Name": account.name, "Address": request.remote_addr}
    try:
        created = service.create_approval(
            account.user_id, "Log in to Example?", details=details, seconds_to_expire=120
        )
    except seconder.SecondFactorError as error:
        return page("second.html", explain(error), account=account)
    session["approval"] = created.uuid
    return redirect("/second/push", 303)


@app.get("/second/push")
def second_push_page() -> Response:
    pending()
    return page("push.html")


@app.get("/second/push/status")
def second_push_status() -> dict[str, str]:
    pending()
    uuid = session.get("approval") or abort(404)
    return {"status": service.check_approval(uuid).status}


@app.post("/second/push/finish")
def second_push_finish() -> Reply:
    account = pending()
    uuid = session.get("approval") or abort(redirect("/second", 303))
    approval = service.check_approval(uuid)
    if approval.status is seconder.ApprovalStatus.PENDING:
        return page("push.html", early=True)
    # Only this user's approval counts, and it lets the user in once.
    if approval.approved_by(account.user_id) and memory.first_time(uuid, session["until"]):
        return log_in(account)
    return page("second.html", NOT_APPROVED, account=account)


@app.route("/seconder/callback", methods=["GET", "POST"])
@callback(api_key=service.api_key(), url=CALLBACK_URL, replay=memory)
def answered(event: seconder.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


# For users who are logged in.


def user() -> Account:
    return accounts.get(session.get("user")) or abort(redirect("/login", 303))


@app.get("/")
def home() -> Response:
    return page("home.html", account=user())


@app.post("/authenticator")
def enrol() -> Reply:
    accounts.enrol_authenticator(user())
    return redirect("/authenticator", 303)


@app.get("/authenticator")
def authenticator() -> Response:
    return authenticator_page(user())


def authenticator_page(account: Account, problem: Problem | None = None) -> Response:
    enrolment = accounts.enrolment(account) or abort(redirect("/", 303))
    return page("authenticator.html", problem, account=account, enrolment=enrolment)


@app.post("/authenticator/confirm")
def confirm() -> Reply:
    account = user()
    try:
        verification = service.verify(digits(typed("code")), account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return authenticator_page(account, explain(error))
    if not is_from_an_app(verification):
        return authenticator_page(account, NOT_FROM_AN_APP)
    accounts.confirm_authenticator(account)
    return redirect("/", 303)


@app.post("/device")
def device() -> Reply:
    accounts.add_device(user())
    return redirect("/", 303)


@app.post("/logout")
def logout() -> Reply:
    session.clear()
    return redirect("/login", 303)


# Every page.


@app.errorhandler(seconder.SecondFactorError)
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
    phone.answer(typed("uuid"), yes=typed("answer") == "approve")
    return redirect("/demo/phone", 303)


if __name__ == "__main__":
    app.run(port=PORT)
