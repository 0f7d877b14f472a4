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
    NOT_FROM_AN_APP,
    PENDING_LIFE,
    PORT,
    PUBLIC_URL,
    SECRET,
    Account,
    Accounts,
    DemoPhone,
    NotSignedUp,
    SignUp,
    digits,
    explain,
    is_from_an_app,
    open_memory,
    open_service,
)
from flask import Flask, Response, abort, redirect, render_template, request, session
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


# The password.


@app.get("/login")
def login_page() -> str:
    return render_template("login.html")


@app.post("/login")
def login() -> Reply | tuple[str, int]:
    account = accounts.with_password(request.form["name"], request.form["password"])
    if account is None:
        return render_template("login.html", error="The name or the password is wrong."), 401
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
def signup_page() -> str:
    return render_template("signup.html")


@app.post("/signup")
def signup() -> Reply | tuple[str, int]:
    typed = SignUp(*(request.form[name] for name in ("name", "password", "email", "cellphone")))
    try:
        ticket = accounts.begin(typed)
    except NotSignedUp as error:
        return render_template("signup.html", error=error), 400
    except seconder.SecondFactorError as error:
        return render_template("signup.html", error=explain(error)), 429
    session.clear()
    session["signup"] = ticket
    return redirect("/signup/code", 303)


@app.get("/signup/code")
def signup_code_page() -> str | Reply:
    if not accounts.is_pending(session.get("signup")):
        return redirect("/signup", 303)
    return render_template("number.html")


@app.post("/signup/code")
def signup_code() -> Reply | tuple[str, int]:
    ticket = session.get("signup")
    if ticket is None or not accounts.is_pending(ticket):
        return redirect("/signup", 303)
    try:
        accounts.finish(ticket, digits(request.form["code"]))
    except NotSignedUp as error:
        return render_template("number.html", error=error), 401
    except seconder.SecondFactorError as error:
        return render_template("number.html", error=explain(error)), 401
    session.clear()
    return redirect("/login", 303)


# The second factor.


@app.get("/second")
def second() -> str:
    return render_template("second.html", account=pending())


@app.post("/second/sms")
def second_sms() -> str | tuple[str, int]:
    account = pending()
    try:
        sent = service.request_sms(account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return render_template("code.html", error=explain(error)), 429
    return render_template("code.html", cellphone=sent.cellphone)


@app.get("/second/code")
def second_code_page() -> str:
    pending()
    return render_template("code.html")


@app.post("/second/code")
def second_code() -> Reply | tuple[str, int]:
    account = pending()
    try:
        # Without `force`, the first code of a new user would not be checked.
        service.verify(digits(request.form["code"]), account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return render_template("code.html", error=explain(error)), 401
    return log_in(account)


@app.post("/second/push")
def second_push() -> Reply | tuple[str, int]:
    account = pending()
    details = {"Name": account.name, "Address": request.remote_addr}
    try:
        created = service.create_approval(
            account.user_id, "Log in to Example?", details=details, seconds_to_expire=120
        )
    except seconder.SecondFactorError as error:
        return render_template("second.html", account=account, error=explain(error)), 429
    session["approval"] = created.uuid
    return redirect("/second/push", 303)


@app.get("/second/push")
def second_push_page() -> str:
    pending()
    return render_template("push.html")


@app.get("/second/push/status")
def second_push_status() -> dict[str, str]:
    pending()
    uuid = session.get("approval") or abort(404)
    return {"status": service.check_approval(uuid).status}


@app.post("/second/push/finish")
def second_push_finish() -> Reply | tuple[str, int]:
    account = pending()
    uuid = session.get("approval") or abort(redirect("/second", 303))
    approval = service.check_approval(uuid)
    if approval.status is seconder.ApprovalStatus.PENDING:
        return redirect("/second/push", 303)
    # Only this user's approval counts, and it lets the user in once.
    if approval.approved_by(account.user_id) and memory.first_time(uuid, session["until"]):
        return log_in(account)
    error = "You did not approve the login."
    return render_template("second.html", account=account, error=error), 401


@app.route("/seconder/callback", methods=["GET", "POST"])
@callback(api_key=service.api_key(), url=CALLBACK_URL, replay=memory)
def answered(event: seconder.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


# For users who are logged in.


def user() -> Account:
    return accounts.get(session.get("user")) or abort(redirect("/login", 303))


@app.get("/")
def home() -> str:
    return render_template("home.html", account=user())


@app.post("/authenticator")
def enrol() -> str:
    account = user()
    enrolled = service.enrol_authenticator(account.user_id, label=account.name)
    return render_template("authenticator.html", enrolled=enrolled)


@app.post("/authenticator/confirm")
def confirm() -> Reply | tuple[str, int]:
    account = user()
    try:
        verification = service.verify(digits(request.form["code"]), account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return render_template("authenticator.html", error=explain(error)), 401
    if not is_from_an_app(verification):
        return render_template("authenticator.html", error=NOT_FROM_AN_APP), 401
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


# Every form.


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
def phone_page() -> str:
    return render_template("phone.html", **phone.page())


@app.post("/demo/phone")
def phone_answer() -> Reply:
    phone.answer(request.form["uuid"], yes=request.form["answer"] == "approve")
    return redirect("/demo/phone", 303)


if __name__ == "__main__":
    app.run(port=PORT)
