"""Verifies codes by django-otp's own devices: app|message TURNS. Its plug-in for messages sends them
by e-mail; those for SMS need an account with a gateway."""

import sys

from otp_site import accounts, measured, set_up

kind, turns = sys.argv[1], int(sys.argv[2])
if kind == "app":
    set_up("django_otp.plugins.otp_totp")
    from django_otp.oath import totp
    from django_otp.plugins.otp_totp.models import TOTPDevice as Device
else:
    set_up("django_otp.plugins.otp_email", OTP_EMAIL_BODY_TEMPLATE="{{ token }}")
    from django_otp.plugins.otp_email.models import EmailDevice as Device


def pairs():
    for account in accounts(turns + 1):
        device = Device.objects.create(user=account, name="device")
        if kind == "app":
            yield device, (lambda key=device.bin_key: f"{totp(key):06}")
        else:
            yield device, (lambda device=device: Device.objects.get(pk=device.pk).token)


measured(turns, iter(list(pairs())), challenge=kind == "message")
