"""A device for django-otp, which sends codes by SMS and accepts those of apps, and recovery codes.

Add ``"seconder.contrib.django"``, ``"django_otp"`` and ``"seconder.contrib.django.otp"`` to
``INSTALLED_APPS``. :class:`seconder.contrib.django.otp.models.SeconderDevice` is the device.
"""
