"""The settings of django-allauth's own test project, with the adapter."""

from tests.projects.account_only.settings import *  # noqa: F403
from tests.projects.account_only.settings import INSTALLED_APPS as THEIRS

from seconder.contrib.django.allauth import ADAPTER, FORMS

INSTALLED_APPS = (
    "seconder.contrib.django",
    "seconder.contrib.django.allauth",
    *THEIRS,
    "allauth.mfa",
)
MFA_ADAPTER, MFA_FORMS = ADAPTER, FORMS
# As in the one of its projects that has these apps.
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_PASSKEY_SIGNUP_ENABLED = True
ACCOUNT_LOGIN_BY_CODE_ENABLED = True
ACCOUNT_ADAPTER = "tests.projects.common.adapters.AccountAdapter"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SECONDER = {"URL": "sandbox:"}
