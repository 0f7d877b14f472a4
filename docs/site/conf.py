"""How Sphinx builds the site: `make docs`."""

import re
import sys
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
ROOT = Path(__file__).parents[2]
# The native module lies beside the package, where `make python-module` puts it.
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
# The documents are read in the repository too, where a link to the code leads to a file.
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# A test framework and web frameworks are not needed to describe what is made for them.
autodoc_mock_imports = ["pytest", "flask", "werkzeug", "django", "asgiref", "starlette", "fastapi"]
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
    """Lets a name that the package offers lead to where it is described, which each must be."""
    app.connect("missing-reference", described)
    app.connect("env-check-consistency", all_is_described)


def described(app, env, node, contnode):
    import seconder

    package, _, name = node["reftarget"].partition(".")
    first, _, rest = name.partition(".")
    offered = getattr(seconder, first, None)
    if package != "seconder" or not hasattr(offered, "__qualname__"):
        return None
    target = ".".join(filter(None, [offered.__module__, first, rest]))
    if target == node["reftarget"]:
        return None
    return env.domains.python_domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, contnode
    )


def all_is_described(app, env):
    import inspect

    import seconder

    there = set(env.domains.python_domain.objects)
    for name in seconder.__all__:
        offered = getattr(seconder, name)
        if not inspect.isclass(offered) and not inspect.isfunction(offered):
            continue
        places = [f"seconder.{name}", f"{offered.__module__}.{name}"]
        place = next((place for place in places if place in there), places[0])
        # What all results have in common is described once.
        members = inspect.getmembers(offered, inspect.isfunction)
        own = [member for member, _ in members if not member.startswith("_") and member != "to_dict"]
        for missing in {place, *(f"{place}.{member}" for member in own)} - there:
            log.warning("%s is not described in site/python.md", missing)
