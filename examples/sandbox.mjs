// A test of a login in JavaScript, without any library: seconder serve --sandbox &
// NODE_EXTRA_CA_CERTS=seconder-sandbox.pem node sandbox.mjs https://127.0.0.1:8443
import assert from "node:assert/strict";

const service = process.argv[2] ?? "https://127.0.0.1:8443";
const headers = { "X-Svc-API-Key": "the-key-of-the-sandbox", "Content-Type": "application/json" };

async function call(method, path, fields) {
  const body = fields && JSON.stringify(fields);
  const response = await fetch(service + path, { method, headers, body });
  return { status: response.status, ...(await response.json()) };
}
const sandbox = (name, fields) => call("POST", `/-/sandbox/${name}`, fields ?? {});

// What the application does: it lets nobody in on anything but a code that was checked and is right.
async function logIn(user, code) {
  const reply = await call("GET", `/protected/json/verify/${code}/${user}?force=true`);
  if (reply.status >= 500) return "later";
  return reply.status === 200 && reply.token === "is valid" ? "in" : "wrong";
}

await sandbox("reset", { still: true });
const fields = { email: "ada@example.com", cellphone: "555-010-0123", country_code: "1" };
const { user } = await call("POST", "/protected/json/users/new", { user: fields });
await call("GET", `/protected/json/sms/${user.id}`);
const { code } = await call("GET", `/-/sandbox/code?user_id=${user.id}&wait=5`);
assert.equal(await logIn(user.id, code), "in");
assert.equal(await logIn(user.id, code), "wrong", "a code is right once");

await sandbox("advance", { seconds: 60 });
await call("GET", `/protected/json/sms/${user.id}`);
const { code: late } = await call("GET", `/-/sandbox/code?user_id=${user.id}&wait=5`);
await sandbox("advance", { seconds: 3600 });
assert.equal(await logIn(user.id, late), "wrong", "it has expired");

await sandbox("failing", { fault: "storage", calls: ["verify"] });
assert.equal(await logIn(user.id, code), "later", "an outage lets nobody in");
console.log("ok");
