// The screens that show requests and answer them.

import { call, now, respond } from "./api.js";
import { accounts, active, clear, look, note, once, open, past, poll, trouble } from "./inbox.js";
import { announce, duration, go, moment, t, complain, view } from "./page.js";
import { dismiss, state as push } from "./push.js";

// A tap that was meant for what was on the screen before must not answer.
const DEAD_TIME = 500;

// The application's initial stands where its picture goes, and stays if that cannot be shown.
async function draw({ account, uuid }, root) {
  const reply = await call(account, "GET", `api/requests/${uuid}/logo`);
  const image = new Image();
  image.alt = "";
  image.src = URL.createObjectURL(await reply.blob());
  await image.decode().finally(() => URL.revokeObjectURL(image.src));
  root.querySelector(".logo").replaceChildren(image);
}

function show(name, request, values, actions) {
  const { about } = request;
  // In lists, because an empty text would leave its element out.
  const details = about.details.map(([name, value]) => view("fact", { name: [name], value: [value] }));
  const root = view(name, { ...about, details, initial: [...about.application][0], created: moment(about.created), ...values }, actions);
  if (about.logo) draw(request, root).catch(() => {});
  return root;
}

const timeLeft = (expires) => duration(Math.max(0, expires - now()));

function card(request) {
  const root = show("card", request, { expires: request.expires });
  root.firstElementChild.href = `#r=${request.uuid}`;
  root.tick = () => root.querySelector(".left")?.replaceChildren(t("left", { time: timeLeft(request.expires) }));
  root.tick();
  return root;
}

function requests() {
  const known = open();
  const [drawn, served] = [push, active().length];
  const cards = known.map(card);
  const root = view("requests", {
    cards, removed: served < accounts.length, push, muted: /off|denied|failed/.test(push),
    empty: !cards.length && view("empty", { icon: "requests", what: "requests" }),
  });
  const tick = () => cards.forEach((card) => card.tick());
  // Drawn anew only if something has changed, because that moves the focus.
  const update = () => {
    const found = open();
    const arrived = found.find(({ uuid }) => !known.some((one) => one.uuid === uuid));
    if (arrived) announce(t("requests.arrived", arrived.about));
    if (arrived || found.length < known.length || push !== drawn || active().length !== served) go("requests", true);
  };
  return Object.assign(root, { tick, update });
}

const find = (uuid) => open().find((request) => request.uuid === uuid);

const request = (uuid) => {
  const found = find(uuid);
  return found ? present(found) : search(uuid);
};

// A notification may open the app before the first poll, or after the request was answered.
function search(uuid) {
  const root = view("search");
  let [running, said] = [];
  const run = async () => {
    await poll();
    for (const account of active()) {
      if (find(uuid)) break;
      const found = await look(account, uuid);
      if (found && !find(uuid)) return finish(outcome(found), found);
    }
    if (find(uuid)) go(`r=${uuid}`, true);
    else finish("gone");
  };
  // Again after each poll, until the service has said what became of it.
  const update = () => {
    running ??= run().catch(({ message }) => {
      if (message !== said) complain(root, said = message);
    }).finally(() => { running = undefined; });
  };
  update();
  return Object.assign(root, { update });
}

const outcome = ({ status, by_this_device: here }) => {
  if (status === "unauthorized") return "removed";
  return /approved|denied/.test(status) ? (here ? status : `other_${status}`) : "expired";
};

function present(request) {
  const { account, expires, number_digits: digits, uuid } = request;
  let sending = false;
  let timer;

  const hold = () => {
    clearTimeout(timer);
    for (const button of buttons) button.ariaDisabled = "true";
    if (!sending) timer = setTimeout(() => buttons.forEach((button) => { button.ariaDisabled = null; }), DEAD_TIME);
  };

  const conclude = async (kind) => {
    await note(uuid, kind);
    finish(kind, request);
  };

  // It is no longer open. If the service cannot be asked why, it is too late in any case.
  const ended = async () => {
    sending = true;
    hold();
    const found = await look(account, uuid).catch(({ message }) => ({ status: message }));
    finish(found ? outcome(found) : "gone", request);
  };

  const answer = async (response) => {
    const number = response === "approve" && digits ? typed(input.value) : null;
    sending = true;
    hold();
    try {
      if (number?.length < digits) throw Error("number");
      const { status } = await respond(account, request, response, number);
      await conclude(response === "report" ? "reported" : status);
    } catch ({ message }) {
      if (message === "wrong_number_denied") return conclude("flagged");
      if (message === "unauthorized") return finish("removed", request);
      if (/expired|not_/.test(message)) return ended();
      if (message === "changed") {
        await poll();
        go(`r=${uuid}`, true);
        // This screen has gone.
        return complain(document, message);
      }
      sending = false;
      hold();
      if (/number/.test(message)) {
        input.value = "";
        input.ariaInvalid = "true";
        input.focus();
      }
      throw Error(message);
    }
  };

  const root = show("request", request, { timed: Boolean(expires), digits: digits > 0 }, {
    approve: () => answer("approve"), deny: () => answer("deny"), report: () => answer("report"),
  });
  const buttons = root.querySelectorAll("button");
  const input = root.querySelector("input");
  if (input) input.maxLength = digits;

  const left = root.querySelector("#left");
  const tick = () => {
    if (!expires || sending) return;
    left.textContent = timeLeft(expires);
    if ([60, 30, 10].includes(expires - now())) announce(t("left", { time: left.textContent }));
    if (expires <= now()) ended();
  };
  const update = () => {
    if (!sending && !trouble && !find(uuid)) ended();
  };
  // Whatever moves the buttons makes them wait again: a message, a turned phone, a keyboard.
  const moved = new ResizeObserver(hold);
  for (const child of root.children) moved.observe(child);
  document.addEventListener("visibilitychange", hold);
  const close = () => {
    moved.disconnect();
    document.removeEventListener("visibilitychange", hold);
  };
  hold();
  tick();
  return Object.assign(root, { tick, update, close });
}

// Arabic keyboards type digits of their own.
const typed = (text) => text.replace(/[٠-٩۰-۹]/g, (digit) => digit.charCodeAt(0) & 15).replace(/\D/g, "");

let last;

function finish(kind, request) {
  last = { kind, ...request?.about };
  if (request) dismiss(request.uuid);
  go("result", true);
}

const ICONS = {
  approved: "check", other_approved: "check", denied: "cross", other_denied: "cross",
  reported: "requests", flagged: "warning", expired: "clock", gone: "clock", removed: "device",
};

function result() {
  if (!last) return go("requests", true);
  const root = view("result", { ...last, icon: ICONS[last.kind] });
  root.dataset.result = last.kind;
  return root;
}

function entry(past) {
  const root = show("entry", { ...past, about: { ...JSON.parse(past.shown), logo: false } }, past);
  root.dataset.status = past.status;
  return root;
}

const history = () => view("history", {
  some: past.length > 0, entries: once(past).map(entry),
  empty: !past.length && view("empty", { icon: "history", what: "history" }),
}, {
  clear: async () => {
    await clear();
    go("history", true);
  },
});

export const answering = { requests, request, result, history };
