// The screens that register this device with an account.

import { enrol } from "./api.js";
import { accounts, save } from "./inbox.js";
import { codesKey, newKey, remove } from "./keys.js";
import { copy, go, language, complain, view } from "./page.js";
import { allow, repair, state as push } from "./push.js";

let code = "";
let error;
let added;

// The ten characters of an invitation, or nothing. People paste whole links, and confuse O and 0.
export function invitation(text) {
  const read = text.split("#").pop().toUpperCase().replace(/[\s\p{Pd}]/gu, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  return /^[0-9A-HJKMNP-TV-Z]{10}$/.test(read) && read;
}

export function invite(invited) {
  code = invited;
  error = undefined;
}

const grouped = () => code.replace(/^.{5}/, "$&-");

const isPad = () => navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1;

// Android calls itself Linux too, so it comes first.
const system = () => (isPad() ? "iPad" :
  ["iPhone", "iPad", "Android", "Windows", "Mac", "Linux"].find((word) => navigator.userAgent.includes(word)) ?? "");

const PLATFORMS = { iPhone: "ios", iPad: "ios", Android: "android" };

// Safari on iPhone and iPad has `standalone`; only in an app of the Home Screen it is true.
const welcome = () => view("welcome", {}, {
  start: async () => go(navigator.standalone === false ? "install" : "code"),
});

const install = () => view("install", { code: grouped(), some: code.length > 0 }, {
  copy: (event) => copy(event, grouped()),
});

function enterCode() {
  const next = async () => {
    invite(invitation(input.value));
    if (code) return go("name");
    code = "";
    input.ariaInvalid = "true";
    input.focus();
    throw Error("incomplete");
  };
  const root = view("code", { cancel: accounts.length > 0 }, { next });
  const input = root.querySelector("input");
  input.value = grouped();
  complain(root, error);
  return root;
}

function name() {
  if (!code) return go("code", true);
  const add = async () => {
    try {
      await register(input.value.trim() || system());
    } catch ({ message }) {
      if (!/invitation|tries/.test(message)) throw Error(message);
      error = message;
      go("code", true);
    }
  };
  const root = view("name", {}, { add });
  const input = root.querySelector("input");
  input.value = accounts[0]?.name ?? system();
  return root;
}

async function register(name) {
  const pair = await newKey().catch(() => {});
  if (!pair) return go("nokeys", true);
  navigator.storage?.persist?.();
  const { codes: { secret, ...codes }, device, application, account } =
    await enrol(pair, code, { name, language, platform: PLATFORMS[system()] ?? "other" });
  added = { device, application, account, name, codes, key: pair.key, codesKey: await codesKey(secret), added: Date.now() };
  await save(added);
  await remove("settings", "key");
  invite("");
  await repair();
  go(push === "off" ? "notifications" : "done", true);
}

const notifications = () => view("notifications", {}, {
  allow: async () => {
    await allow();
    go("done", true);
  },
});

const done = () => (added ? view("done", { ...added, push }) : go("requests", true));

export const enrolment = { welcome, install, code: enterCode, name, nokeys: () => view("nokeys"), notifications, done };
