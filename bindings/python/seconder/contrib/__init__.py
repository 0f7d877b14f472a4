"""Callbacks in web frameworks: a module for each, imported by those who use it.

:mod:`seconder.contrib.flask`, :mod:`seconder.contrib.django` and :mod:`seconder.contrib.asgi`
(Starlette and FastAPI); and :mod:`seconder.contrib.replay`, what several processes remember
together. Importing :mod:`seconder` imports none of them.
"""
