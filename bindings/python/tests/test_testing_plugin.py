"""The pytest plugin of `seconder.testing`, in a separate pytest process."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

APPLICATION = '''
"""An application, as its developers would write it."""
import seconder

def login(service, user_id, typed):
    try:
        service.verify(typed, user_id, force=True)
    except seconder.TokenInvalid:
        return "wrong"
    except seconder.Unavailable:
        return "later"
    return "in"
'''


def test_the_fixture_is_available_without_an_import(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        application=APPLICATION,
        test_application='''
        import pytest
        from application import login

        @pytest.fixture
        def ada(seconder_sandbox):
            service = seconder_sandbox.service
            return service.create_user("ada@example.com", "555-010-0123", 1).id

        def test_in(seconder_sandbox, ada):
            seconder_sandbox.service.request_sms(ada)
            code = seconder_sandbox.code(ada)
            assert login(seconder_sandbox.service, ada, code) == "in"
            assert login(seconder_sandbox.service, ada, code) == "wrong"

        @pytest.mark.parametrize("time", ["first", "second"])
        def test_each_test_has_its_own(seconder_sandbox, ada, time):
            assert ada == 1 and not seconder_sandbox.messages

        def test_an_outage(seconder_sandbox, ada):
            with seconder_sandbox.failing("timeout"):
                assert login(seconder_sandbox.service, ada, "1234567") == "later"
        ''',
    )
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=4)


def test_its_settings_can_be_overridden(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('''
        import pytest

        @pytest.fixture
        def seconder_sandbox_settings():
            return {"application_name": "Example", "token_length": 6}
    ''')
    pytester.makepyfile('''
        def test_settings(seconder_sandbox):
            assert seconder_sandbox.service.app_details().name == "Example"
    ''')
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_a_suite_that_does_not_use_it_does_not_import_seconder(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('''
        import sys

        def test_nothing(request):
            assert request.config.pluginmanager.has_plugin("seconder")
            assert "seconder" not in sys.modules
    ''')
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_the_fixtures_are_listed_with_their_description(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_subprocess("--fixtures", "-q")
    listed.stdout.fnmatch_lines(["seconder_sandbox*", "*A second factor in memory*"])


def test_the_plugin_can_be_disabled(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(seconder_sandbox): pass")
    pytester.runpytest_subprocess("-p", "no:seconder").assert_outcomes(errors=1)
