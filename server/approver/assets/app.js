// Starts the app, chooses the screen by the fragment of the address, and polls.

import { enrolment, invitation, invite } from "./enrol.js";
import { accounts, active, load, poll, trouble } from "./inbox.js";
import { get, put } from "./keys.js";
import { announce, APP, language, t, useLanguage, view } from "./page.js";
import { repair, startWorker } from "./push.js";
import { answering } from "./requests.js";
import { looking } from "./settings.js";

const POLL = 3000;
const SCREENS = { ...enrolment, ...answering, ...looking };

const main = document.querySelector("main");
const nav = document.querySelector("nav");
const banner = document.getElementById("trouble");
let current;

function route() {
  const place = location.hash.slice(1);
  const uuid = /^r=([\w-]+)$/.exec(place)?.[1];
  let screen = uuid ? "request" : place;
  if (!Object.hasOwn(accounts.length ? SCREENS : enrolment, screen)) {
    const invited = invitation(unescaped(place));
    screen = accounts.length ? (invited ? "code" : "requests") : "welcome";
    // The code stays out of the address and of the history of the browser.
    history.replaceState(null, "", `#${screen}`);
    if (invited) invite(invited);
  }
  show(screen, SCREENS[screen](uuid));
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// A screen that has nothing to show has moved on already.
function show(screen, root) {
  if (!root) return;
  const first = !current;
  current?.close?.();
  current = root;
  document.body.dataset.screen = screen;
  main.replaceChildren(root);
  main.scrollTop = 0;
  const title = root.querySelector("h1");
  document.title = `${title.textContent} · ${APP}`;
  title.tabIndex = -1;
  if (!first) title.focus();
  const tab = screen === "devices" ? "settings" : screen;
  nav.replaceChildren(...view("tabs").children);
  for (const link of nav.children) link.ariaCurrent = link.hash === `#${tab}` ? "page" : null;
  nav.hidden = !nav.querySelector("[aria-current]");
  nav.ariaLabel = t("nav.label");
}

let timer;
let polling = false;

async function cycle() {
  clearTimeout(timer);
  if (document.hidden || polling) return;
  polling = true;
  const served = active().length;
  await poll();
  polling = false;
  const text = trouble ? t(trouble === "network" ? "trouble.offline" : "trouble.busy") : "";
  if (banner.textContent !== text) banner.textContent = text;
  if (active().length < served) {
    announce(t("removed.text"));
    // The others have noticed by themselves, or show nothing of the account.
    if (/codes|devices/.test(location.hash)) route();
  }
  current?.update?.();
  timer = setTimeout(cycle, POLL);
}

await useLanguage(await get("settings", "language").catch(() => {}));
// The worker reads it, to keep the texts of this language for when there is no network.
await put("settings", language, "language").catch(() => {});
startWorker();
await load().catch(() => {});
// A screen may move on at once, by this event.
addEventListener("hashchange", route);
route();
addEventListener("online", cycle);
document.addEventListener("visibilitychange", cycle);
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data.open) location.hash = data.open;
  cycle();
});
setInterval(() => current?.tick?.(), 500);
await cycle();
await repair();
current?.update?.();
