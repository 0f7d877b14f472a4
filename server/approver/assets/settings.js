// The screens for codes, devices and settings.

import { call, json, now } from "./api.js";
import { accounts, active, forget, save } from "./inbox.js";
import { code, put } from "./keys.js";
import { announce, copy, go, language, moment, t, complain, useLanguage, view } from "./page.js";
import { allow, repair, state as push } from "./push.js";

function accountCode(account) {
  const { digits, period } = account.codes;
  const root = view("account-code", account, { copy: (event) => copy(event, shown.textContent) });
  const shown = root.querySelector(".digits");
  const ring = root.querySelector("circle + circle");
  root.tick = async () => {
    const time = now();
    const left = period - (time % period);
    root.querySelector(".seconds").textContent = left;
    ring.setAttribute("stroke-dasharray", `${(left / period) * 100} 100`);
    const text = await code(account, time);
    const half = Math.ceil(digits / 2);
    shown.firstChild.textContent = text.slice(0, half);
    shown.lastChild.textContent = text.slice(half);
  };
  root.tick();
  return root;
}

function codes() {
  const cards = active().map(accountCode);
  const empty = !cards.length && view("empty", { icon: "codes", what: "codes" });
  return Object.assign(view("codes", { cards, empty, some: !empty }), { tick: () => cards.forEach((card) => card.tick()) });
}

const device = (about) => view("device", { ...about, date: moment(about.created) });

async function section(account) {
  let error;
  const { devices } = await json(account, "GET", "api/device").catch(({ message }) => ({ devices: void (error = message) }));
  const leave = async () => {
    await forget(account);
    announce(t("removed.done"));
    go(accounts.length ? "devices" : "welcome", true);
  };
  const root = view("account", { ...account, devices: devices?.map(device), some: Boolean(devices) }, {
    leave,
    // Without the service only this side would be deleted, so the account stays.
    remove: async () => {
      await call(account, "DELETE", "api/device");
      await leave();
    },
  });
  root.dataset.device = account.device;
  if (!account.removed) complain(root, error);
  return root;
}

function devices() {
  const root = view("devices");
  Promise.all(accounts.map(section)).then((sections) => root.querySelector("#list").replaceChildren(...sections));
  return root;
}

function settings() {
  const root = view("settings", { push, [push]: true }, {
    allow: async () => {
      await allow();
      go("settings", true);
    },
    save: async () => {
      const name = input.value.trim();
      if (!name) return input.focus();
      for (const account of active()) {
        try {
          await call(account, "POST", "api/device", { name });
          await save(account, { name });
        } catch (error) {
          // One that was removed does not keep the others from it.
          if (!account.removed) throw error;
        }
      }
      complain(root, "");
      announce(t("settings.saved"));
    },
    language: async ({ target }) => {
      await useLanguage(target.value);
      await put("settings", language, "language");
      go("settings", true);
      await repair();
    },
  });
  const input = root.querySelector("input");
  input.value = accounts[0].name;
  root.querySelector("select").value = language;
  root.querySelector("#push").dataset.push = push;
  return root;
}

export const looking = { codes, devices, settings };
