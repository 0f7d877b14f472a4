// Notifications: the one subscription of this browser, which the service holds for every account.

import { call, json } from "./api.js";
import { accounts, save } from "./inbox.js";
import { encode } from "./keys.js";
import { language } from "./page.js";

// "on", "off" (nobody was asked yet), "denied", "failed" or "unsupported"
export let state = "off";

let worker;

export function startWorker() {
  const policy = window.trustedTypes?.createPolicy("seconder", { createScriptURL: () => "sw.js" });
  const workers = navigator.serviceWorker;
  worker = workers?.register(policy?.createScriptURL("") ?? "sw.js", { updateViaCache: "none" }).then(() => workers.ready);
  // Where workers are refused, the app goes on without one.
  worker?.catch(() => {});
}

// A browser that cannot reach its push service never answers.
const limited = (promise) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(reject, 8000))]);

// The service has deleted the subscriptions that the push service rejected, so they are not used again.
async function subscribe(key, deleted) {
  const { pushManager } = await worker;
  const existing = await pushManager.getSubscription();
  const { endpoint, options } = existing ?? {};
  if (existing && encode(options.applicationServerKey) === key && !deleted.includes(endpoint)) return existing;
  await existing?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

async function mend(account, device, subscription) {
  const { endpoint, keys } = subscription ?? {};
  const change = {};
  if (device.language !== language) change.language = language;
  if (endpoint) {
    if (!device.push || account.endpoint !== endpoint) change.subscription = { endpoint, p256dh: keys.p256dh, auth: keys.auth };
  } else if (device.push && state !== "failed") {
    change.subscription = null;
  }
  if (Object.keys(change).length) await call(account, "POST", "api/device", change);
  const { name, application, account: masked } = device;
  await save(account, { name, application, account: masked, ...(state !== "failed" && { endpoint }) });
}

// Compares the permission, the subscription and what the service has, and mends what differs.
// Removed accounts are asked too, because a service that was restored may know them again.
export async function repair() {
  const supported = worker && window.PushManager && window.Notification;
  state = supported ? { granted: "on", denied: "denied", default: "off" }[Notification.permission] : "unsupported";
  const known = [];
  for (const account of [...accounts]) {
    await json(account, "GET", "api/device").then((device) => known.push([account, device]), () => {});
  }
  const deleted = known.filter(([, device]) => !device.push).map(([account]) => account.endpoint);
  let subscription;
  if (state === "on" && known.length) {
    subscription = await limited(subscribe(known[0][1].push_key, deleted)).catch(() => { state = "failed"; });
  }
  for (const [account, device] of known) {
    await mend(account, device, subscription?.toJSON()).catch(({ message }) => {
      if (state === "on" && message !== "network") state = "failed";
    });
  }
}

export async function allow() {
  await Notification.requestPermission();
  await repair();
}

// A notification of a request that needs no answer any more would only confuse.
export async function dismiss(uuid) {
  const shown = await (await worker)?.getNotifications?.({ tag: uuid });
  shown?.forEach((notification) => notification.close());
}
