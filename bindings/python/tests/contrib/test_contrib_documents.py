"""The programs in docs/flask.md and docs/fastapi.md run as they are printed there."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[4] / "docs"

PRELUDE = """
class Account:
    is_authenticated = is_active = True
    is_anonymous = False

    def __init__(self, name, seconder_id):
        self.name, self.seconder_id = name, seconder_id

    def get_id(self):
        return self.name

accounts = {}

def remember_account(name, user_id):
    accounts[name] = Account(name, user_id)

def account_with_password(form, password=None):
    given = form["password"] if password is None else password
    return accounts["ada"] if given == "correct horse" else None

find_account = accounts.get
"""

CHECKS = {
    "flask login": """
test_the_login()
from seconder.testing import Sandbox

with Sandbox(accept="0000000") as sandbox, second.override(sandbox.service, app):
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    client = app.test_client()
    client.post("/login", data={"password": "correct horse"})
    assert client.post("/login/code", data={"code": "1111111"}).status_code == 401
    client.post("/login/code", data={"code": "0000000"})
    assert len(client.post("/recovery-codes").json) == 10
    with client.session_transaction() as kept:
        kept["_seconder_passed"] = {**kept["_seconder_passed"], "at": 0}
    assert client.post("/recovery-codes").location == "/login/code"
    assert client.get("/login/code").status_code == 200
    client.post("/login/code", data={"code": "0000000"})
    assert client.post("/recovery-codes").status_code == 200
    copied = client.get_cookie("session").value
    client.post("/logout")
    client.set_cookie("session", copied)
    assert client.get("/").location == "/login"
with Sandbox() as sandbox, second.override(sandbox.service, app):
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    for _ in range(2):
        asked = client.post("/login", data={"password": "correct horse"})
        assert (asked.status_code, asked.location) == (303, "/login/code")
    assert client.post("/login/code", data={"code": sandbox.code(1)}).location == "/"
""",
    "flask glue": """
from seconder.testing import Sandbox

with Sandbox(accept="0000000") as sandbox:
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    with second.override(sandbox.service, app):
        client = app.test_client()
        assert client.post("/login", data={"password": "wrong"}).status_code == 401
        client.post("/flask-login/password", data={"password": "correct horse"})
        assert client.get("/flask-login").location == "/login/code"
        client.post("/flask-login/code", data={"code": "0000000"})
        assert client.get("/flask-login").text == "Welcome, ada"

from flask_security import Security
from flask_security.datastore import UserDatastore

other = Flask("other")
other.config.update(SETTINGS, SECRET_KEY="key", SECONDER_URL="sandbox:")
other.config["SECURITY_PASSWORD_SALT"] = "salt"
Seconder(other)
class Model:
    fs_uniquifier = email = None

Security(other, UserDatastore(Model, None))
assert "security.two_factor_token_validation" in other.view_functions
""",
    "fastapi": """
test_the_login()
with Sandbox(accept="0000000") as sandbox:
    remember_account("ada", sandbox.service.create_user("a@example.com", "555-010-0123", 1).user_id)
    replaced = seconder.AsyncService(sandbox.service)
    app.dependency_overrides[service] = lambda: replaced
    client = TestClient(app, base_url="https://shop.example")
    client.post("/login", json={"name": "ada", "password": "correct horse"})
    assert client.post("/own/sms").status_code == 200
    assert client.post("/own/verify", json={"code": "1111111"}).status_code == 401
    assert client.post("/own/verify", json={"code": "0000000"}).status_code == 200
with TestClient(FastAPI(lifespan=whole)) as client:
    assert client.get("/").status_code == 404
app.dependency_overrides.clear()
with TestClient(app) as client:
    assert client.post("/login/second/sms").status_code == 401
""",
}


# An application either keeps its users itself or has Flask-Login, so the two are run apart.
PARTS = {"flask login": slice(0, 2), "flask glue": slice(0, 4), "fastapi": slice(0, 4)}


@pytest.mark.parametrize("name", CHECKS)
def test_the_programs_in_the_documents_run(name: str, tmp_path: Path) -> None:
    text = (DOCUMENTS / f"{name.split()[0]}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    blocks = blocks[PARTS[name]]
    (tmp_path / "shop_messages.py").write_text("def deliver(message): pass\n")
    program = "\n".join([PRELUDE, *map(textwrap.dedent, blocks), CHECKS[name]])
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
