"""Runs the own tests of django-otp and django-allauth with the adapters."""
