"""A login with a second factor, in Django: ``python django_app.py``, then http://127.0.0.1:5000."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import django
from common import (
    CALLBACK_URL,
    DATA,
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
    open_service,
)
from django.conf import settings

# A site of several files has these settings in its settings.py.
settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY=SECRET,
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "django.db"}},
    INSTALLED_APPS=["django.contrib.sessions", "seconder.contrib.django"],
    MIDDLEWARE=[
        f"{__name__}.headers",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    SESSION_COOKIE_SECURE=PUBLIC_URL.startswith("https:"),
    CSRF_COOKIE_SECURE=PUBLIC_URL.startswith("https:"),
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": [FOLDER / "templates"],
        }
    ],
)
django.setup()

from django.core.management import call_command
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST
from django.views.static import serve

import seconder
from seconder.contrib.django import TableReplay, callback

View = Callable[[HttpRequest], HttpResponse]
service = open_service()
memory = TableReplay()
accounts = Accounts(service)
phone = DemoPhone(service, accounts)


def page(request: HttpRequest, name: str, status: int = 200, **context: object) -> HttpResponse:
    return render(request, name, {"csrf_name": "csrfmiddlewaretoken", **context}, status=status)


# The password.


def login(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return page(request, "login.html")
    account = accounts.with_password(
        request.POST.get("name", ""), request.POST.get("password", "")
    )
    if account is None:
        return page(request, "login.html", 401, error="The name or the password is wrong.")
    request.session.flush()
    request.session.update({"pending": account.name, "until": time.time() + PENDING_LIFE})
    return redirect("/second")


def pending(view: Callable[[HttpRequest, Account], HttpResponse]) -> View:
    """Wraps a view for users with a right password who have not passed the second factor yet."""

    def guarded(request: HttpRequest) -> HttpResponse:
        account = accounts.get(request.session.get("pending"))
        if account is None or request.session["until"] < time.time():
            return redirect("/login")
        return view(request, account)

    return guarded


def log_in(request: HttpRequest, account: Account) -> HttpResponse:
    """The only place that lets a user in. Nothing of the login is kept in the session, and its key
    changes, so that a session key known before the login is useless."""
    request.session.flush()
    rotate_token(request)
    request.session["user"] = account.name
    return redirect("/")


# Signing up. The number is verified before anybody is enrolled: it may be somebody else's.


def signup(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return page(request, "signup.html")
    fields = ("name", "password", "email", "cellphone")
    try:
        ticket = accounts.begin(SignUp(*(request.POST.get(name, "") for name in fields)))
    except NotSignedUp as error:
        return page(request, "signup.html", 400, error=error)
    except seconder.SecondFactorError as error:
        return page(request, "signup.html", 429, error=explain(error))
    request.session.flush()
    request.session["signup"] = ticket
    return redirect("/signup/code")


def signup_code(request: HttpRequest) -> HttpResponse:
    ticket = request.session.get("signup")
    if ticket is None or not accounts.is_pending(ticket):
        return redirect("/signup")
    if request.method != "POST":
        return page(request, "number.html")
    try:
        accounts.finish(ticket, digits(request.POST.get("code", "")))
    except NotSignedUp as error:
        return page(request, "number.html", 401, error=error)
    except seconder.SecondFactorError as error:
        return page(request, "number.html", 401, error=explain(error))
    request.session.flush()
    return redirect("/login")


# The second factor.


@require_GET
@pending
def second(request: HttpRequest, account: Account) -> HttpResponse:
    return page(request, "second.html", account=account)


@require_POST
@pending
def second_sms(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        sent = service.request_sms(account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return page(request, "code.html", 429, error=explain(error))
    return page(request, "code.html", cellphone=sent.cellphone)


@pending
def second_code(request: HttpRequest, account: Account) -> HttpResponse:
    if request.method != "POST":
        return page(request, "code.html")
    try:
        # Without `force`, the first code of a new user would not be checked.
        service.verify(digits(request.POST.get("code", "")), account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return page(request, "code.html", 401, error=explain(error))
    return log_in(request, account)


@pending
def second_push(request: HttpRequest, account: Account) -> HttpResponse:
    if request.method != "POST":
        return page(request, "push.html")
    details = {"Name": account.name, "Address": request.META["REMOTE_ADDR"]}
    try:
        created = service.create_approval(
            account.user_id, "Log in to Example?", details=details, seconds_to_expire=120
        )
    except seconder.SecondFactorError as error:
        return page(request, "second.html", 429, account=account, error=explain(error))
    request.session["approval"] = created.uuid
    return redirect("/second/push")


@require_GET
@pending
def second_push_status(request: HttpRequest, account: Account) -> HttpResponse:
    uuid = request.session.get("approval")
    if uuid is None:
        return HttpResponseBadRequest()
    return JsonResponse({"status": service.check_approval(uuid).status})


@require_POST
@pending
def second_push_finish(request: HttpRequest, account: Account) -> HttpResponse:
    uuid = request.session.get("approval")
    if uuid is None:
        return redirect("/second")
    approval = service.check_approval(uuid)
    if approval.status is seconder.ApprovalStatus.PENDING:
        return redirect("/second/push")
    # Only this user's approval counts, and it lets the user in once.
    until = request.session["until"]
    if approval.approved_by(account.user_id) and memory.first_time(uuid, until):
        return log_in(request, account)
    error = "You did not approve the login."
    return page(request, "second.html", 401, account=account, error=error)


@callback(api_key=service.api_key(), url=CALLBACK_URL, replay=memory)
def answered(event: seconder.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


# For users who are logged in.


def user(view: Callable[[HttpRequest, Account], HttpResponse]) -> View:
    """Wraps a view for users who are logged in."""

    def guarded(request: HttpRequest) -> HttpResponse:
        account = accounts.get(request.session.get("user"))
        return redirect("/login") if account is None else view(request, account)

    return guarded


@require_GET
@user
def home(request: HttpRequest, account: Account) -> HttpResponse:
    return page(request, "home.html", account=account)


@require_POST
@user
def enrol(request: HttpRequest, account: Account) -> HttpResponse:
    enrolled = service.enrol_authenticator(account.user_id, label=account.name)
    return page(request, "authenticator.html", enrolled=enrolled)


@require_POST
@user
def confirm(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        code = digits(request.POST.get("code", ""))
        verification = service.verify(code, account.user_id, force=True)
    except seconder.SecondFactorError as error:
        return page(request, "authenticator.html", 401, error=explain(error))
    if not is_from_an_app(verification):
        return page(request, "authenticator.html", 401, error=NOT_FROM_AN_APP)
    accounts.confirm_authenticator(account)
    return redirect("/")


@require_POST
@user
def device(request: HttpRequest, account: Account) -> HttpResponse:
    accounts.add_device(account)
    return redirect("/")


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    request.session.flush()
    return redirect("/login")


def headers(get_response: View) -> View:
    """Middleware: sets the headers of every page."""

    def with_headers(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        for name, value in HEADERS.items():
            response[name] = value
        return response

    return with_headers


# Demo: the users' phone.


def demo_phone(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return page(request, "phone.html", **phone.page())
    phone.answer(request.POST.get("uuid", ""), yes=request.POST.get("answer") == "approve")
    return redirect("/demo/phone")


urlpatterns = [
    path("", home),
    path("login", login),
    path("logout", logout),
    path("signup", signup),
    path("signup/code", signup_code),
    path("second", second),
    path("second/sms", second_sms),
    path("second/code", second_code),
    path("second/push", second_push),
    path("second/push/status", second_push_status),
    path("second/push/finish", second_push_finish),
    path("authenticator", enrol),
    path("authenticator/confirm", confirm),
    path("device", device),
    path("demo/phone", demo_phone),
    path("seconder/callback", answered),
    path("static/<path:path>", serve, {"document_root": FOLDER / "static"}),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", f"127.0.0.1:{PORT}", use_reloader=False)
