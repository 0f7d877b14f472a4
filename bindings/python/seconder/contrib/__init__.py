"""Callbacks in web frameworks, in one module per framework, so that an application imports only
what it uses.

:mod:`seconder.contrib.flask`, :mod:`seconder.contrib.django` and :mod:`seconder.contrib.asgi`
(Starlette and FastAPI); and :mod:`seconder.contrib.replay`, the replay memories that several
processes share. Importing :mod:`seconder` imports none of them.
"""
