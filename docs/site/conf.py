"""Configuration of Sphinx, for `make docs`."""

import re
import sys
from pathlib import Path

from sphinx.ext.autodoc.mock import _MockObject
from sphinx.util import logging

log = logging.getLogger(__name__)
ROOT = Path(__file__).parents[2]
# `make python-module` puts the native module next to the package, so Sphinx imports both from here.
sys.path.insert(0, str(ROOT / "bindings" / "python"))

project = "Seconder"
author = "the authors of Seconder"
copyright = author
release = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
root_doc = "index"
exclude_patterns = ["requirements.txt"]
suppress_warnings = ["myst.header"]
nitpicky = False

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Describing the integrations does not require the frameworks themselves to be installed.
autodoc_mock_imports = [
    *("pytest", "flask", "flask_login", "flask_security", "werkzeug", "wtforms", "click"),
    *("django", "allauth", "django_otp", "rest_framework", "asgiref"),
    *("starlette", "fastapi", "pydantic"),
]
# A subclass of what is mocked has no attributes. Models read this one of Django's enumerations.
_MockObject.choices = ()
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"Seconder {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "native"


def setup(app):
    """Resolves references to public names, and requires that each public name is described."""
    app.connect("missing-reference", resolve_public_name)
    app.connect("env-check-consistency", warn_of_undescribed_names)


def resolve_public_name(app, env, node, contnode):
    """Resolves ``seconder.Name``. Sphinx knows it only by the module that defines it."""
    import seconder

    package, _, name = node["reftarget"].partition(".")
    first, _, rest = name.partition(".")
    public = getattr(seconder, first, None)
    if package != "seconder" or not hasattr(public, "__qualname__"):
        return None
    target = ".".join(filter(None, [public.__module__, first, rest]))
    if target == node["reftarget"]:
        return None
    return env.domains.python_domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, contnode
    )


def warn_of_undescribed_names(app, env):
    """Warns of each public name that ``site/python.md`` lacks; ``make docs`` fails on a warning."""
    import inspect

    import seconder

    described = set(env.domains.python_domain.objects)
    for name in seconder.__all__:
        public = getattr(seconder, name)
        if not inspect.isclass(public) and not inspect.isfunction(public):
            continue
        places = [f"seconder.{name}", f"{public.__module__}.{name}"]
        place = next((place for place in places if place in described), places[0])
        # `to_dict`, which every result inherits, is described once.
        members = inspect.getmembers(public, inspect.isfunction)
        own = [key for key, _ in members if not key.startswith("_") and key != "to_dict"]
        for missing in {place, *(f"{place}.{member}" for member in own)} - described:
            log.warning("%s is not described in site/python.md", missing)
