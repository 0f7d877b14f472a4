"""The pytest plugin of `seconder.testing`, in a separate pytest process."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

APPLICATION = '''
"""An application, as its developers would write it."""
import seconder

def login(service, user_id, typed):
    try:
        service.verify(user_id, typed)
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
            return service.create_user("ada@example.com", "555-010-0123", 1).user_id

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


def test_a_fixture_by_its_earlier_name_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('''
        import pytest

        @pytest.fixture
        def seconder_sandbox_settings(seconder_sandbox_settings):
            return {**seconder_sandbox_settings, "application_name": "Example"}
    ''')
    pytester.makepyfile("def test_it(seconder_sandbox): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*seconder_sandbox_settings is now called seconder_options: rename*"])


def test_its_settings_can_be_overridden(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('''
        import pytest

        @pytest.fixture
        def seconder_options():
            return {"application_name": "Example", "token_length": 6}
    ''')
    pytester.makepyfile('''
        def test_settings(seconder_sandbox):
            assert seconder_sandbox.service.app_details().name == "Example"
    ''')
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_a_mark_has_the_options_of_a_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('''
        import pytest

        @pytest.fixture
        def seconder_options():
            return {"application_name": "Options", "token_length": 6}
    ''')
    pytester.makepyfile('''
        import pytest, unittest

        pytestmark = pytest.mark.seconder(application_name="Module")

        def length(sandbox):
            user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1).user_id
            sandbox.service.request_sms(user)
            return len(sandbox.code(user))

        def test_the_module(seconder_sandbox):
            assert seconder_sandbox.service.app_details().name == "Module"
            assert length(seconder_sandbox) == 6

        @pytest.mark.seconder(application_name="Class", token_length=8)
        class TestClass:
            @pytest.mark.seconder(token_length=9)
            def test_the_closest_wins(self, seconder_sandbox):
                assert seconder_sandbox.service.app_details().name == "Class"
                assert length(seconder_sandbox) == 9

        class TestUnit(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def sandbox(self, seconder_sandbox):
                self.sandbox = seconder_sandbox

            @pytest.mark.seconder(token_length=10)
            def test_of_unittest(self):
                self.assertEqual(length(self.sandbox), 10)
    ''')
    outcome = pytester.runpytest_subprocess("-W", "error", "--strict-markers")
    outcome.assert_outcomes(passed=3)


def test_a_mark_alone_opens_the_sandbox(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('''
        import pytest, sys

        @pytest.mark.seconder
        def test_marked(request):
            assert "seconder_sandbox" in request.node.funcargs or "seconder.testing" in sys.modules
    ''')
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("seconder(token_lenght=6)", "the mark seconder has an unknown option: token_lenght"),
        ("seconder({'token_length': 6})", "the mark seconder takes its options by name"),
        ("seconder(token_length=5)", "token_length must be 6 to 10"),
    ],
)
def test_a_wrong_mark_is_an_error(pytester: pytest.Pytester, mark: str, message: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): pass")
    outcome = pytester.runpytest_subprocess("-W", "error")
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines([f"*{message}*"])


def test_an_unknown_option_of_the_fixture_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('''
        import pytest

        @pytest.fixture
        def seconder_options():
            return {"database": "sqlite:app.db"}

        def test_it(seconder_sandbox): pass
    ''')
    outcome = pytester.runpytest_subprocess()
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines(["*the fixture seconder_options has an unknown option: database.*"])


def test_a_test_can_fail_for_an_unused_fault(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('''
        def test_unused(seconder_sandbox):
            with seconder_sandbox.failing("timeout", calls={"verify"}):
                seconder_sandbox.service.app_details()

        def test_used(seconder_sandbox):
            with seconder_sandbox.failing("undelivered"):
                try:
                    seconder_sandbox.service.start_phone_verification("sms", "555-010-0123", 1)
                except ConnectionError:
                    pass
    ''')
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=2)
    pytester.makeini("[pytest]\nseconder_fail_unused_faults = true")
    outcome = pytester.runpytest_subprocess("-W", "error")
    outcome.assert_outcomes(passed=2, errors=1)
    outcome.stdout.fnmatch_lines(["*did not use: timeout of verify: met 0 of any*"])


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
    listed.stdout.fnmatch_lines(["seconder_options*", "seconder_sandbox*", "*in memory*"])
    marks = pytester.runpytest_subprocess("--markers")
    marks.stdout.fnmatch_lines(["@pytest.mark.seconder(**options)*"])


def test_the_plugin_can_be_disabled(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(seconder_sandbox): pass")
    pytester.runpytest_subprocess("-p", "no:seconder").assert_outcomes(errors=1)
