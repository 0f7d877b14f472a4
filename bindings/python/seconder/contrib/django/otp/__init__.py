"""A device for django-otp: sends codes by SMS; accepts these, apps' codes and recovery codes.

Add ``"seconder.contrib.django"``, ``"django_otp"`` and ``"seconder.contrib.django.otp"`` to
``INSTALLED_APPS``. :class:`seconder.contrib.django.otp.models.SeconderDevice` is the device.
"""
