"""The settings of the site."""

from __future__ import annotations

from seconder.contrib.django.allauth import ACCOUNT, ADAPTER, FORMS

SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["testserver"]
USE_TZ = True
ROOT_URLCONF = "contrib.django_site.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "rest_framework",
    "django_otp",
    "seconder.contrib.django",
    "seconder.contrib.django.otp",
    "seconder.contrib.django.allauth",
    "allauth",
    "allauth.account",
    "allauth.mfa",
]
MIDDLEWARE = [
    "seconder.contrib.django.middleware.VisitorMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
# The default takes a third of a second for each password.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/home/"
OTP_LOGIN_URL = "/otp/login/"
STATIC_URL = "/static/"
ACCOUNT_ADAPTER, MFA_ADAPTER, MFA_FORMS = ACCOUNT, ADAPTER, FORMS
ACCOUNT_EMAIL_VERIFICATION = "none"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "EXCEPTION_HANDLER": "seconder.contrib.django.rest.exception_handler",
}
SECONDER = {"URL": "sandbox:"}
