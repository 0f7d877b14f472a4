"""The pages of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django_otp.admin import OTPAdminSite
from django_otp.decorators import otp_required
from django_otp.forms import OTPAuthenticationForm
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from seconder.contrib.django import accounts
from seconder.contrib.django.otp.models import SeconderDevice
from seconder.contrib.django.rest import SecondFactorVerified
from seconder.contrib.django.verified import mark_verified, second_factor_required

otp_admin = OTPAdminSite(OTPAdminSite.name)
otp_admin.register(SeconderDevice)


def home(request: HttpRequest) -> HttpResponse:
    return HttpResponse("home")


@login_required
def member(request: HttpRequest) -> HttpResponse:
    return HttpResponse("member")


@second_factor_required
def secret(request: HttpRequest) -> HttpResponse:
    return HttpResponse("secret")


@second_factor_required
async def secret_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse("secret")


@second_factor_required(max_age=60)
def transfer(request: HttpRequest) -> HttpResponse:
    return HttpResponse("transferred")


@otp_required
def by_otp(request: HttpRequest) -> HttpResponse:
    return HttpResponse("verified")


class Secret(APIView):
    permission_classes = [SecondFactorVerified]

    def get(self, request: Request) -> Response:
        return Response("secret")


class Verify(APIView):
    def post(self, request: Request) -> Response:
        accounts.verify(request.user, dict(request.data)["code"])
        mark_verified(request._request)
        return Response(status=204)


urlpatterns = [
    path("home/", home),
    path("member/", member),
    path("secret/", secret),
    path("secret-async/", secret_async),
    path("transfer/", transfer),
    path("otp/secret/", by_otp),
    path("otp/login/", LoginView.as_view(authentication_form=OTPAuthenticationForm)),
    path("api/secret/", Secret.as_view()),
    path("api/verify/", Verify.as_view()),
    path("second-factor/", include("seconder.contrib.django.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("otp-admin/", otp_admin.urls),
]
