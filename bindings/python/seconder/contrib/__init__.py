"""Callbacks in web frameworks, in one module per framework, so that an application imports only
what it uses.

:mod:`seconder.contrib.flask`, :mod:`seconder.contrib.django` and :mod:`seconder.contrib.asgi`
(Starlette and FastAPI); and :mod:`seconder.contrib.replay`, the replay memories that several
processes share. Importing :mod:`seconder` imports none of them.
"""

FRESH_SECONDS = 300
"""How long ago a user may have passed the second factor at most to change what protects the account, in
seconds."""
