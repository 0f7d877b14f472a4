"""The second factor in django-allauth: the codes of ``allauth.mfa`` are checked by the service.

Add ``"seconder.contrib.django.allauth"`` to ``INSTALLED_APPS``, before ``"allauth.mfa"``, whose pages
it extends, and set::

    from seconder.contrib.django.allauth import ACCOUNT, ADAPTER, FORMS

    ACCOUNT_ADAPTER, MFA_ADAPTER, MFA_FORMS = ACCOUNT, ADAPTER, FORMS

Accounts with an :class:`seconder.contrib.django.models.Enrolment` are asked for a code after the
password. Those without keep what allauth itself offers.
"""

ACCOUNT = "seconder.contrib.django.allauth.adapter.SeconderAccountAdapter"
"""For the setting ``ACCOUNT_ADAPTER``. An adapter of the site's own inherits from it."""

ADAPTER = "seconder.contrib.django.allauth.adapter.SeconderMFAAdapter"
"""For the setting ``MFA_ADAPTER``."""

FORMS = {
    "authenticate": "seconder.contrib.django.allauth.forms.AuthenticateForm",
    "reauthenticate": "seconder.contrib.django.allauth.forms.ReauthenticateForm",
    "activate_totp": "seconder.contrib.django.allauth.forms.ActivateTOTPForm",
}
"""For the setting ``MFA_FORMS``."""
