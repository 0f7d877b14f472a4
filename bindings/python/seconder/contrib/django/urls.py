"""The URLs: ``path("second-factor/", include("seconder.contrib.django.urls"))``."""

from __future__ import annotations

from django.urls import URLPattern, path

from seconder.contrib.django.views import VerifyView

app_name = "seconder"
urlpatterns: list[URLPattern] = [path("", VerifyView.as_view(), name="verify")]
