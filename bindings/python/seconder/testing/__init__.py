"""Support for the tests of applications: a service in memory, with the time, the phones and the
faults under the control of the test.

>>> import seconder
>>> from seconder.testing import Sandbox
>>> with Sandbox() as sandbox:
...     user = sandbox.service.create_user("ada@example.com", "555-010-0123", 1)
...     sent = sandbox.service.request_sms(user.id)
...     code = sandbox.code(user.id)
...     right = sandbox.service.verify(code, user.id, force=True)
...     with sandbox.failing("rate_limited", retry_after=30):
...         try:
...             sandbox.service.verify(code, user.id)
...         except seconder.RateLimited as error:
...             print(error)
API usage limit reached. Try again in 30 s

With pytest, the fixture ``seconder_sandbox`` is such a sandbox, a new one for each test. It is
available as soon as the package is installed. Override the fixture ``seconder_sandbox_settings``,
which returns the arguments of :class:`Sandbox` as a dict, to change them.
"""

from seconder.testing._callbacks import Callback
from seconder.testing._faults import Fault
from seconder.testing._sandbox import Sandbox

__all__ = ["Callback", "Fault", "Sandbox"]
