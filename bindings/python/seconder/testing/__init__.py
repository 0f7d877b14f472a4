"""Support for the tests of applications: a service in memory, with the time, the phones and the
faults under the control of the test.

>>> import seconder
>>> from seconder.testing import Sandbox
>>> with Sandbox() as sandbox:
...     user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
...     sent = sandbox.service.request_sms(user.user_id)
...     code = sandbox.code(user.user_id)
...     right = sandbox.service.verify(user.user_id, code)
...     with sandbox.failing("rate_limited", retry_after=30):
...         try:
...             sandbox.service.verify(user.user_id, code)
...         except seconder.RateLimited as error:
...             print(error)
API usage limit reached. Try again in 30 s

With pytest, the fixture ``seconder_sandbox`` is such a sandbox, a new one for each test. It is
available as soon as the package is installed. The mark ``seconder`` has the arguments of
:class:`Sandbox` for one test, as in ``@pytest.mark.seconder(token_length=6)``; override the fixture
``seconder_options``, which returns them as a dict, for many.
"""

from seconder.testing._callbacks import Callback
from seconder.testing._calls import Call
from seconder.testing._faults import Fault, UnusedFault
from seconder.testing._sandbox import Sandbox

__all__ = ["Call", "Callback", "Fault", "Sandbox", "UnusedFault"]
