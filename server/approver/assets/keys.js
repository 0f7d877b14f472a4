// What is kept on this device, and its cryptography. No key in here can be exported.

const { subtle } = crypto;

const opened = new Promise((resolve, reject) => {
  const request = indexedDB.open("seconder-approver", 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("accounts", { keyPath: "device" });
    request.result.createObjectStore("history", { keyPath: ["device", "uuid"] });
    request.result.createObjectStore("settings");
  };
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
// Whoever uses it gets an error that says so.
opened.catch(() => {});

async function run(store, method, ...rest) {
  const transaction = (await opened).transaction(store, "readwrite");
  return new Promise((resolve, reject) => {
    transaction.onabort = () => reject(transaction.error);
    const request = transaction.objectStore(store)[method](...rest);
    transaction.oncomplete = () => resolve(request.result);
  });
}

export const get = (store, key) => run(store, "get", key);
export const all = (store) => run(store, "getAll");
export const put = (store, ...rest) => run(store, "put", ...rest);
export const remove = (store, key) => run(store, "delete", key);

export const encode = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

const bytes = (text) => new TextEncoder().encode(text);

export async function sha256(text) {
  const hash = new Uint8Array(await subtle.digest("SHA-256", bytes(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const sign = async (key, ...lines) =>
  encode(await subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, bytes(lines.join("\n"))));

// The key of the next enrolment. It is stored and read back before an invitation is spent on it,
// because Lockdown Mode and private windows refuse to keep keys. It stays until the enrolment has
// succeeded, so that a second try after a lost reply presents the same key.
export async function newKey() {
  if (!await get("settings", "key")) {
    const pair = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    await put("settings", { key: pair.privateKey, point: encode(await subtle.exportKey("raw", pair.publicKey)) }, "key");
  }
  return get("settings", "key");
}

export const codesKey = (secret) =>
  subtle.importKey("raw", decode(secret), { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);

// The code of RFC 6238.
export async function code({ codes: { digits, period }, codesKey }, time) {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(time / period)));
  const mac = new DataView(await subtle.sign("HMAC", codesKey, counter));
  const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}
