// The accounts of this device, their open requests, and what became of earlier ones.

import { call, json, now } from "./api.js";
import { all, put, remove } from "./keys.js";

const HISTORY = 100;

export const accounts = [];
// The latest first. Each account that has a request has an entry for it, which stays when another account goes.
export let past = [];
// The word of the error that the last poll met, if it met one.
export let trouble;

// By device: the requests and the ETag of the last reply.
const lists = new Map();

export async function load() {
  accounts.push(...(await all("accounts")).sort((a, b) => a.added - b.added));
  past = (await all("history")).sort((a, b) => b.seen - a.seen);
}

export const active = () => accounts.filter((account) => !account.removed);

// An account that was deleted stays so, whatever was under way for it.
export async function save(account, change) {
  if (account.gone) return;
  await put("accounts", Object.assign(account, change));
  if (!accounts.includes(account)) accounts.push(account);
}

export async function forget(account) {
  account.gone = true;
  await remove("accounts", account.device);
  accounts.splice(0, Infinity, ...accounts.filter((one) => one !== account));
  await drop((entry) => entry.device === account.device);
}

const listed = (account) => lists.get(account.device)?.requests ?? [];

const read = (account, request) => ({ ...request, account, about: JSON.parse(request.shown) });

export const once = (list) => list.filter(({ uuid }, index) => list.findIndex((one) => one.uuid === uuid) === index);

// A user who has several accounts in here is asked once, and answers with the first of them. The list of
// another may have been under way when it was answered.
export const open = () =>
  once(active().flatMap((account) => listed(account).map((request) => read(account, request))))
    .filter(({ uuid, expires }) => (find(uuid)?.status ?? "pending") === "pending" && (!expires || expires > now()))
    .sort((a, b) => a.about.created - b.about.created);

export const isOpen = (uuid) => open().some((request) => request.uuid === uuid);

export async function poll() {
  trouble = undefined;
  for (const account of active()) {
    await pollOne(account).catch(({ message }) => { if (message !== "unauthorized") trouble = message; });
  }
}

async function pollOne(account) {
  const { device } = account;
  const etag = lists.get(device)?.etag;
  const reply = await call(account, "GET", "api/requests", undefined, etag && { "If-None-Match": etag });
  if (reply.status === 304) return;
  const { requests } = await reply.json();
  // The tag is kept once all of this has succeeded: with it, the next reply may have no list.
  lists.set(device, { requests });
  await remember(account);
  for (const entry of past) {
    if (entry.device === device && entry.status === "pending" && !isOpen(entry.uuid)) await look(account, entry.uuid);
  }
  lists.get(device).etag = reply.headers.get("ETag");
}

async function remember(account) {
  for (const { uuid, shown } of listed(account)) {
    const { device } = account;
    const entry = find(uuid, device) ?? { seen: now(), status: "pending", ...find(uuid), device, uuid };
    if (entry.shown !== shown || !past.includes(entry)) await keep(Object.assign(entry, { shown }));
  }
}

const find = (uuid, device) => past.find((entry) => entry.uuid === uuid && (!device || entry.device === device));

async function keep(entry) {
  if (!accounts.some(({ device }) => device === entry.device)) return;
  if (!past.includes(entry)) past.unshift(entry);
  await put("history", entry);
  await drop((_, index) => index >= HISTORY);
}

async function drop(which) {
  const dropped = past.filter(which);
  past = past.filter((entry) => !dropped.includes(entry));
  for (const { device, uuid } of dropped) await remove("history", [device, uuid]);
}

// Open requests stay, because the next poll would bring them back.
export const clear = () => drop(({ uuid }) => !isOpen(uuid));

// Notes what became of a request. What was answered here is known in more detail than the service
// reports, so the first note stays.
export async function note(uuid, status, otherDevice) {
  for (const [device, { requests }] of lists) {
    const left = requests.filter((request) => request.uuid !== uuid);
    if (left.length < requests.length) lists.set(device, { requests: left });
  }
  for (const entry of past) {
    if (entry.uuid === uuid && entry.status === "pending") await keep(Object.assign(entry, { status, otherDevice }));
  }
}

// Asks what became of a request. Returns nothing if the account has no such request.
export async function look(account, uuid) {
  try {
    const request = await json(account, "GET", `api/requests/${uuid}`);
    const { status, by_this_device: here } = request;
    if (status !== "pending") await note(uuid, status, !here && status !== "expired");
    // The list could not be had. Without a tag, the next reply has it.
    else if (!isOpen(uuid)) lists.set(account.device, { requests: [...listed(account).filter((one) => one.uuid !== uuid), request] });
    return read(account, request);
  } catch (error) {
    if (error.message !== "not_found") throw error;
    // Another account may have it.
    if (find(uuid, account.device)) await note(uuid, "unknown");
  }
}
