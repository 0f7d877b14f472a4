// Keeps the app for when there is no network, and shows notifications.

const CACHE = "VERSION";
const SHELL = [
  "./",
  "app.webmanifest",
  "assets/app.css",
  "assets/icon.svg",
  "assets/api.js",
  "assets/app.js",
  "assets/enrol.js",
  "assets/inbox.js",
  "assets/keys.js",
  "assets/page.js",
  "assets/push.js",
  "assets/requests.js",
  "assets/settings.js",
];
const TEXTS = {
  en: "assets/en.json",
  de: "assets/de.json",
  fr: "assets/fr.json",
  es: "assets/es.json",
  pt: "assets/pt.json",
  ar: "assets/ar.json",
};
const { scope } = registration;

// The page has noted its language before it registered this worker.
const language = () => new Promise((resolve, reject) => {
  const opening = indexedDB.open("seconder-approver");
  // Without the page's tables, the page could never make them. It starts the worker again.
  opening.onupgradeneeded = () => opening.transaction.abort();
  opening.onerror = reject;
  opening.onsuccess = () => {
    const reading = opening.result.transaction("settings").objectStore("settings").get("language");
    reading.onsuccess = () => resolve(TEXTS[reading.result]);
  };
});

addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(CACHE);
  await cache.addAll([...SHELL, await language()]);
  // A page that is open has all the files of its language already, so a new worker does not disturb it.
  await skipWaiting();
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) {
    if (name !== CACHE) await caches.delete(name);
  }
  await clients.claim();
})()));

addEventListener("fetch", (event) => {
  const url = event.request.url.split("#")[0];
  const asset = url.startsWith(`${scope}assets/`);
  if (asset || url === scope || url === `${scope}app.webmanifest`) event.respondWith(answer(event.request, asset));
});

async function answer(request, asset) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const reply = await fetch(request);
  // Another language was chosen.
  if (asset && reply.ok) await cache.put(request, reply.clone());
  return reply;
}

const pages = async () =>
  (await clients.matchAll({ type: "window", includeUncontrolled: true })).filter(({ url }) => url.startsWith(scope));

// A push that shows nothing costs the subscription on iPhones. So one that cannot be read is shown
// too, in no language, and so is one whose request is answered by now.
async function show(data) {
  const icon = "assets/icon-192.png";
  try {
    const { title, body, lang, dir, tag, navigate } = data.json().notification;
    await registration.showNotification(title, { body, lang, dir, tag, icon, data: navigate });
  } catch {
    await registration.showNotification("Seconder", { icon });
  }
  for (const page of await pages()) page.postMessage({});
}

addEventListener("push", (event) => event.waitUntil(show(event.data)));

addEventListener("notificationclick", (event) => event.waitUntil((async () => {
  event.notification.close();
  const wanted = new URL(event.notification.data ?? "", scope);
  const url = wanted.href.startsWith(scope) ? wanted : new URL(scope);
  const [page] = await pages();
  if (!page) return clients.openWindow(url);
  page.postMessage({ open: url.hash });
  await page.focus();
})()));

// The service learns of the new subscription when the app is started next.
addEventListener("pushsubscriptionchange", (event) => {
  const options = event.oldSubscription?.options;
  if (options) event.waitUntil(registration.pushManager.subscribe(options));
});
