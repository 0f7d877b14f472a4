"""Verifies codes by Seconder's device for django-otp, on ``sqlite:``: app|message TURNS"""

import sys

import seconder
from otp_site import FOLDER, accounts, measured, set_up

kind, turns = sys.argv[1], int(sys.argv[2])
sent: list[seconder.Message] = []
url = f"sqlite:{FOLDER}/seconder.db"
apps = ("seconder.contrib.django", "seconder.contrib.django.otp")
set_up(*apps, SECONDER={"URL": url, "DELIVER": sent.append})

from seconder.contrib.django import service
from seconder.contrib.django.models import Enrolment
from seconder.contrib.django.otp.models import SeconderDevice


def pairs():
    for number, account in enumerate(people):
        found = service().create_user("a@example.com", f"555-{number:07}", 1)
        Enrolment.objects.create(account=account, user_id=found.user_id)
        uri = service().enrol_authenticator(found.user_id).uri if kind == "app" else ""
        device = SeconderDevice.add(account)
        yield device, (lambda uri=uri: seconder.totp.code(uri) if uri else sent[-1].code)


people = accounts(turns + 1)
measured(turns, iter(list(pairs())), challenge=kind == "message")
