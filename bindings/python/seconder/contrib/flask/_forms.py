"""The forms of the plug-in of Flask-Security."""

from __future__ import annotations

from typing import Any

from flask_security import Form
from flask_security.forms import CodeFormMixin
from wtforms import RadioField, SubmitField  # type: ignore[import-untyped]


def _choice(value: str, label: str) -> Any:
    try:
        from wtforms.fields.choices import SelectChoice  # type: ignore[import-untyped]
    except ImportError:  # before WTForms 3.3
        return (value, label)
    return SelectChoice(value, label)


CHANNELS = {"sms": "Send a code by SMS", "call": "Call me with a code"}
CHOICES = [_choice(value, label) for value, label in CHANNELS.items()]


class CodeForm(Form, CodeFormMixin):
    """The form of the code, under the name of Flask-Security's own in templates."""

    submit = SubmitField("Submit Code")


class SendForm(Form):
    """The form that requests a code, in place of Flask-Security's "rescue" form in templates."""

    help_setup = RadioField("No code yet?", choices=CHOICES)
    submit = SubmitField("Submit", id="rescue")
