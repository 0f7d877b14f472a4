"""The settings of django-otp's own test project, with the device."""

from test_project.settings import *  # noqa: F403
from test_project.settings import INSTALLED_APPS as THEIRS

INSTALLED_APPS = [*THEIRS, "seconder.contrib.django", "seconder.contrib.django.otp"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SECONDER = {"URL": "sandbox:"}
