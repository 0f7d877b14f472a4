"""A login with a second factor, in Django: ``python django_app.py``, then http://127.0.0.1:5000."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import django
from common import (
    BROWSER,
    CALLBACK_URL,
    DATA,
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
)
from demo_phone import DemoPhone
from django.conf import settings
from users import Account, Accounts, SignUp

# A site of several files has these settings in its settings.py.
settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY=SECRET,
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "django.db"}},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "seconder.contrib.django",
    ],
    MIDDLEWARE=[
        f"{__name__}.EveryPage",
        "seconder.contrib.django.middleware.VisitorMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    SESSION_COOKIE_AGE=SESSION_LIFE,
    SECONDER={
        "URL": SERVICE_URL,
        "APPLICATION_NAME": "Example",
        "CALLBACK_URL": CALLBACK_URL,
        # The address of the connection, because browsers connect to this application. Behind a proxy,
        # that would be the proxy's for all visitors.
        "USER_IP": lambda request: request.META["REMOTE_ADDR"],
    },
    SESSION_COOKIE_SECURE=SECURE,
    CSRF_COOKIE_SECURE=SECURE,
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": [FOLDER / "templates"],
        }
    ],
)
django.setup()

from django.core.management import call_command
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST
from django.views.static import serve

import seconder
from seconder.contrib import is_fresh
from seconder.contrib.django import TableReplay, callback, service, user_ip

View = Callable[[HttpRequest], HttpResponse]
memory = TableReplay()
accounts = Accounts(service)
phone = DemoPhone(service, accounts)


def page(
    request: HttpRequest, template: str, problem: Problem | None = None, /, **context: object
) -> HttpResponse:
    shown = {"csrf_name": "csrfmiddlewaretoken", "problem": problem, **context}
    response = render(request, template, shown, status=problem.status if problem else 200)
    for header, value in (problem.headers if problem else {}).items():
        response[header] = value
    return response


def typed(request: HttpRequest, name: str) -> str:
    return request.POST.get(name, "")


def visitor() -> str:
    """Returns the visitor's address, by which the service limits messages and wrong codes."""
    address = user_ip()
    assert address is not None
    return address


# The password.


def login(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        new = request.session.get("new")
        return page(request, "login.html", name=new, new=new is not None)
    name = typed(request, "name")
    account = accounts.with_password(name, typed(request, "password"))
    if account is None:
        return page(request, "login.html", WRONG_PASSWORD, name=name)
    token = request.COOKIES.get(BROWSER)
    if token and service().recognise(account.user_id, token):
        logging.warning("user %s logged in with a remembered browser", account.user_id)
        return log_in(request, account, proven=False)
    leave(request)
    hold(request, account)
    return redirect("/second")


def leave(request: HttpRequest) -> None:
    """Ends the visitor's session. Its key is a new one then: one known before is useless."""
    accounts.end_session(request.session.get("session"))
    request.session.flush()


def hold(request: HttpRequest, account: Account) -> None:
    """Has the second step follow for the user."""
    request.session.update({"pending": account.name, "until": time.time() + PENDING_LIFE})


def pending(view: Callable[[HttpRequest, Account], HttpResponse]) -> View:
    """Wraps a view for users with a right password who have not passed the second factor yet."""

    def guarded(request: HttpRequest) -> HttpResponse:
        account = accounts.get(request.session.get("pending"))
        if account is None or request.session["until"] < time.time():
            return redirect("/login")
        if not accounts.may_go_on(account, request.session.get("session")):
            return redirect("/login")
        return view(request, account)

    return guarded


def log_in(request: HttpRequest, account: Account, *, proven: bool = True) -> HttpResponse:
    """The only place that lets a user in, who has proven the second factor now or, in a remembered
    browser, earlier. The session is a new one."""
    leave(request)
    rotate_token(request)
    at = time.time() if proven else None
    request.session.update({"session": accounts.begin_session(account), "proven": at})
    return redirect("/")


# Signing up. The number is verified before anybody is enrolled: it may be somebody else's.


def signup(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return page(request, "signup.html")
    fields = ("name", "password", "email", "cellphone")
    user = SignUp(*(typed(request, name) for name in fields))
    try:
        ticket = accounts.begin(user, visitor())
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "signup.html", explain(error, sending=True), typed=user)
    leave(request)
    request.session["signup"] = ticket
    return redirect("/signup/code")


def signing_up(view: Callable[[HttpRequest, Sent], HttpResponse]) -> View:
    """Wraps a view for visitors whose number is not proven yet."""

    def guarded(request: HttpRequest) -> HttpResponse:
        sent = accounts.sent(request.session.get("signup"))
        return redirect("/signup") if sent is None else view(request, sent)

    return guarded


@signing_up
def signup_code(request: HttpRequest, sent: Sent) -> HttpResponse:
    if request.method != "POST":
        return page(request, "number.html", sent=sent)
    ticket = request.session["signup"]
    try:
        name = accounts.finish(ticket, digits(typed(request, "code")))
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "number.html", explain(error), sent=accounts.sent(ticket))
    leave(request)
    request.session["new"] = name
    return redirect("/login")


@require_POST
@signing_up
def signup_again(request: HttpRequest, sent: Sent) -> HttpResponse:
    try:
        accounts.send_again(request.session["signup"], visitor())
    except (Refused, seconder.SecondFactorError) as error:
        return page(request, "number.html", explain(error, sending=True), sent=sent)
    return redirect("/signup/code")


# The second factor.


@require_GET
@pending
def second(request: HttpRequest, account: Account) -> HttpResponse:
    return second_page(request, account)


def second_page(
    request: HttpRequest, account: Account, problem: Problem | None = None
) -> HttpResponse:
    ways = accounts.ways(account)
    return page(request, "second.html", problem, account=account, ways=ways)


@require_POST
@pending
def second_sms(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        sent = service().request_sms(account.user_id, force=True, user_ip=visitor())
    except seconder.SecondFactorError as error:
        return code_page(request, account, explain(error, sending=True))
    Sent.keep(request.session, sent)
    return redirect("/second/code")


def code_page(
    request: HttpRequest, account: Account, problem: Problem | None = None
) -> HttpResponse:
    shown = {"sent": Sent.kept(request.session), "ways": accounts.ways(account)}
    return page(request, "code.html", problem, remember=typed(request, "remember"), **shown)


@pending
def second_code(request: HttpRequest, account: Account) -> HttpResponse:
    if request.method != "POST":
        return code_page(request, account)
    try:
        code = digits(typed(request, "code"))
        # Without `force`, the first code of a new user would not be checked.
        service().verify(account.user_id, code, user_ip=visitor())
    except seconder.SecondFactorError as error:
        return code_page(request, account, explain(error))
    response = log_in(request, account)
    if typed(request, "remember"):
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


@pending
def second_push(request: HttpRequest, account: Account) -> HttpResponse:
    if request.method != "POST":
        return page(request, "push.html", number=request.session.get("number"))
    details = {"Name": account.name, "Address": request.META["REMOTE_ADDR"]}
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
    request.session.update({"approval": created.uuid, "number": created.number})
    return redirect("/second/push")


@require_GET
@pending
def second_push_status(request: HttpRequest, account: Account) -> HttpResponse:
    uuid = request.session.get("approval")
    if uuid is None:
        return HttpResponseNotFound()
    return JsonResponse({"status": service().check_approval(uuid).status})


@require_POST
@pending
def second_push_finish(request: HttpRequest, account: Account) -> HttpResponse:
    uuid = request.session.get("approval")
    if uuid is None:
        return redirect("/second")
    approval = service().check_approval(uuid)
    if approval.status is seconder.enums.ApprovalStatus.PENDING:
        return page(request, "push.html", early=True, number=request.session.get("number"))
    # Only this user's approval counts, and it lets the user in once.
    until = request.session["until"]
    if approval.approved_by(account.user_id) and memory.first_time(uuid, until):
        return log_in(request, account)
    return second_page(request, account, NOT_APPROVED)


@callback(api_key=service().admin.api_key(), url=CALLBACK_URL, replay=memory)
def answered(event: seconder.results.Event) -> None:
    logging.warning("approval %s: %s by user %s", event.uuid, event.status, event.user_id)


# For users who are logged in.


def user(view: Callable[[HttpRequest, Account], HttpResponse]) -> View:
    """Wraps a view for users who are logged in."""

    def guarded(request: HttpRequest) -> HttpResponse:
        account = accounts.in_session(request.session.get("session"))
        return redirect("/login") if account is None else view(request, account)

    return guarded


def fresh(request: HttpRequest) -> bool:
    """Whether the second factor was proven in this session, and a moment ago."""
    return is_fresh(request.session.get("proven"))


def proven(view: Callable[[HttpRequest, Account], HttpResponse]) -> View:
    """Wraps a view for users who proved the second factor in this session a moment ago. Otherwise it is
    asked for first: neither an old session nor a remembered browser changes what protects the account."""

    @user
    def guarded(request: HttpRequest, account: Account) -> HttpResponse:
        if not fresh(request):
            hold(request, account)
            return redirect("/second")
        return view(request, account)

    return guarded


def end_others(request: HttpRequest, account: Account) -> None:
    """Ends the user's other sessions, after a change of what protects the account."""
    accounts.end_other_sessions(account, request.session.get("session"))


@require_GET
@user
def home(request: HttpRequest, account: Account) -> HttpResponse:
    return home_page(request, account)


def home_page(
    request: HttpRequest, account: Account, problem: Problem | None = None
) -> HttpResponse:
    shown = {"account": account, "ways": accounts.ways(account)}
    return page(request, "home.html", problem, proven=fresh(request), **shown)


@proven
def authenticator(request: HttpRequest, account: Account) -> HttpResponse:
    if request.method != "POST":
        return authenticator_page(request, account)
    accounts.enrol_authenticator(account)
    return redirect("/authenticator")


def authenticator_page(
    request: HttpRequest, account: Account, problem: Problem | None = None
) -> HttpResponse:
    enrolment = accounts.enrolment(account)
    if enrolment is None:
        return redirect("/")
    return page(request, "authenticator.html", problem, account=account, enrolment=enrolment)


@require_POST
@proven
def confirm(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        accounts.confirm_authenticator(account, typed(request, "code"))
    except seconder.SecondFactorError as error:
        return authenticator_page(request, account, explain(error))
    end_others(request, account)
    return redirect("/")


@require_POST
@proven
def remove(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        accounts.remove(account, typed(request, "way"))
    except Refused as error:
        return home_page(request, account, error.problem)
    end_others(request, account)
    return redirect("/")


@require_POST
@proven
def device(request: HttpRequest, account: Account) -> HttpResponse:
    invited = accounts.add_device(account)
    end_others(request, account)
    return page(request, "invite.html", invited=invited) if invited else redirect("/")


@require_POST
@proven
def recovery(request: HttpRequest, account: Account) -> HttpResponse:
    codes = accounts.create_recovery_codes(account)
    end_others(request, account)
    return page(request, "recovery.html", codes=codes)


@require_POST
@user
def forget_browsers(request: HttpRequest, account: Account) -> HttpResponse:
    # This needs no code: whoever is worried about a browser must not have to look for a phone.
    service().forget(account.user_id)
    end_others(request, account)
    return redirect("/")


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    leave(request)
    return redirect("/login")


class EveryPage:
    """Middleware: sets the headers, and explains errors that the page does not explain itself."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response[name] = value
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, seconder.SecondFactorError):
            return None
        return page(request, "sorry.html", explain(error))


# Demo: the users' phone.


def demo_phone(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return page(request, "phone.html", **phone.page())
    yes = typed(request, "answer") == "approve"
    problem = phone.answer(typed(request, "uuid"), yes, typed(request, "number"))
    if problem is None:
        return redirect("/demo/phone")
    return page(request, "phone.html", problem, **phone.page())


urlpatterns = [
    path("", home),
    path("login", login),
    path("logout", logout),
    path("signup", signup),
    path("signup/code", signup_code),
    path("signup/again", signup_again),
    path("second", second),
    path("second/sms", second_sms),
    path("second/code", second_code),
    path("second/push", second_push),
    path("second/push/status", second_push_status),
    path("second/push/finish", second_push_finish),
    path("authenticator", authenticator),
    path("authenticator/confirm", confirm),
    path("remove", remove),
    path("device", device),
    path("recovery", recovery),
    path("browsers/forget", forget_browsers),
    path("demo/phone", demo_phone),
    path("seconder/callback", answered),
    path("static/<path:path>", serve, {"document_root": FOLDER / "static"}),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", f"127.0.0.1:{PORT}", use_reloader=False)
