#!/bin/bash
# Builds the Python module for a free-threaded Python, without the global interpreter lock, and
# installs it beside pytest in an otherwise empty environment. Runs the tests that need no more.
set -euo pipefail
python=$1
cd "$(dirname "$0")/.."
venv=build/venv-$python
wheels=build/wheels-$python

rm -rf "$venv" "$wheels"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check "$(grep '^pytest==' tests/requirements.txt)"
build/venv/bin/maturin build -q --locked -m bindings/python/Cargo.toml --interpreter "$python" --out "$wheels"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index "$wheels"/*.whl
others=(contrib test_migrate.py test_types.py test_wheel.py)
"$venv/bin/python" -m pytest "${others[@]/#/--ignore=bindings/python/tests/}" bindings/python
