// Signed calls to the service. A call that fails throws an error whose message is the service's
// word for it, or "network" or "overloaded".

import { get, put, sha256, sign } from "./keys.js";

// Seconds by which the clock of the service is ahead of ours. They are kept for codes without a network.
let ahead = await get("settings", "ahead").catch(() => {}) ?? 0;

export const now = () => Math.floor(Date.now() / 1000 + ahead);

function correctClock(reply, asked) {
  const time = Date.now();
  const difference = (Date.parse(reply.headers.get("Date")) - time) / 1000;
  // `Date` counts whole seconds, and the reply took a while. If it took longer, the page may have been suspended in
  // between, and the time in the reply is as old as that. `performance` may stand still while a phone sleeps.
  if (time - asked < 5000 && Math.abs(difference - ahead) > 3) {
    ahead = difference;
    put("settings", ahead, "ahead").catch(() => {});
  }
}

// An account that the service no longer knows is only marked: the user deletes it.
async function mark(account, removed) {
  if (!account || account.gone || Boolean(account.removed) === removed) return;
  account.removed = removed;
  await put("accounts", account);
}

// Sends what `make` returns for a time. If our clock was wrong, it is right the second time.
async function send(account, method, path, make) {
  for (const last of [false, true]) {
    const { body, headers } = await make(now());
    const asked = Date.now();
    const request = fetch(path, {
      method, body, headers: { "Content-Type": "application/json", ...headers },
      cache: "no-store", redirect: "error", signal: AbortSignal.timeout(10000),
    });
    const reply = await request.catch(() => { throw Error("network"); });
    correctClock(reply, asked);
    if (reply.ok || reply.status === 304) {
      await mark(account, false);
      return reply;
    }
    const { error_code: error = "invalid" } = await reply.json().catch(() => ({}));
    if (error === "unauthorized") await mark(account, true);
    if (error !== "clock" || last) throw Error(reply.status === 503 ? "overloaded" : error);
  }
}

export function call(account, method, path, value, more) {
  const body = value && JSON.stringify(value);
  return send(account, method, path, async (time) => {
    const signature = await sign(account.key, "seconder-call-v1", location.origin, account.device,
      `${method} ${path}`, await sha256(body ?? ""), time);
    return { body, headers: { ...more, Authorization: `Seconder device=${account.device}, time=${time}, signature=${signature}` } };
  });
}

export const json = async (...request) => (await call(...request)).json();

export async function enrol({ key, point }, code, about) {
  const reply = await send(undefined, "POST", "api/devices", async (time) => {
    const signature = await sign(key, "seconder-enrol-v1", location.origin, await sha256(code), point, time);
    return { body: JSON.stringify({ code, key: point, ...about, time, signature }) };
  });
  return reply.json();
}

export async function respond(account, { uuid, shown: text }, response, number) {
  const { device, key } = account;
  const shown = await sha256(text);
  const reply = await send(account, "POST", `api/requests/${uuid}/respond`, async (time) => {
    const signature = await sign(key, "seconder-response-v1", location.origin, device, uuid, response, number ?? "-", shown, time);
    return { body: JSON.stringify({ device, response, number, shown, time, signature }) };
  });
  return reply.json();
}
