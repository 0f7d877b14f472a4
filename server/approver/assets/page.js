// Texts in the user's language, and elements made from the templates of the page.

const FILES = {
  en: "./en.json",
  de: "./de.json",
  fr: "./fr.json",
  es: "./es.json",
  pt: "./pt.json",
  ar: "./ar.json",
};
// What the operator calls this app.
export const APP = document.title;
export let language;
let texts;

// Uses this language, or without one the best of those that the browser asks for.
export async function useLanguage(wanted) {
  const tag = [wanted, ...navigator.languages, "en"].map((tag) => tag?.slice(0, 2)).find((tag) => tag in FILES);
  const reply = await fetch(new URL(FILES[tag], import.meta.url)).catch(() => { throw Error("network"); });
  // The service was upgraded since this page was loaded, and its files have other names now.
  if (!reply.ok && texts) location.reload();
  texts = await reply.json();
  language = tag;
  document.documentElement.lang = tag;
  document.documentElement.dir = tag === "ar" ? "rtl" : "ltr";
}

// Characters that draw nothing, that reorder their neighbours, or that look different everywhere. What Persian, Indic
// languages and emoji are written with stays. `misleads` of the engine is the same for notifications, names and the
// command line. A new version of Unicode may add to \p{DI}, as 14 did with U+180F, so what is in it depends on the
// browser. The other classes never change.
export const ODD = /((?![\u200C\u200D\uFE0E\uFE0F])[\p{DI}\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB\u{13430}-\u{1343F}])/u;

// Text that somebody else wrote, isolated from the direction of the page.
function outside(text) {
  const element = document.createElement("bdi");
  element.append(...String(text).split(ODD).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part === "\n") return "↵\n";
    const token = document.createElement("span");
    token.className = "odd";
    token.dir = "ltr";
    token.append(`⟨U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
    return token;
  }));
  return element;
}

const nodes = (content) => [content].flat().map((one) => (one instanceof Node ? one : outside(one)));

const parts = (key, values) =>
  texts[key].split(/\{(\w+)\}/).flatMap((part, index) => (index % 2 ? nodes(part === "app" ? APP : values[part]) : part));

export const t = (key, values) => parts(key, values).map((part) => part.textContent ?? part).join("");

// Shows the text for an error. A newer service may have words that are unknown here.
export function complain(root, word) {
  const place = root.querySelector(".error");
  place.role = "alert";
  place.hidden = !word;
  place.textContent = word && t(`error.${word}` in texts ? `error.${word}` : "error.invalid");
}

// Makes the element of a template. There, `data-t` names a text, `data-i` an icon, and `data-do` what
// the element does. `data-v` names a value: the element shows it unless it has a text, and without the
// value it is left out.
export function view(name, values = {}, actions = {}) {
  const root = document.importNode(document.getElementById(name).content, true).firstElementChild;
  const named = (name) => name.replace(/\{(\w+)\}/, (_, value) => values[value]);
  for (const element of [root, ...root.querySelectorAll("*")]) {
    const { t: text, i: icon, v: value, do: action } = element.dataset;
    const content = values[value];
    if (value && (!content || content.length === 0)) element.remove();
    else if (value && !text && content !== true) element.replaceChildren(...nodes(content));
    if (text) element.replaceChildren(...parts(named(text), values));
    if (icon) {
      const picture = view("icon");
      picture.firstElementChild.setAttribute("href", `#i-${named(icon)}`);
      element.prepend(picture);
    }
    if (action) {
      element.addEventListener(element.matches("select") ? "change" : "click", async (event) => {
        event.preventDefault();
        if (element.ariaDisabled || element.ariaBusy) return;
        element.ariaBusy = "true";
        await actions[action](event).catch(({ message }) => complain(root, message));
        element.ariaBusy = null;
      });
    }
  }
  return root;
}

// Screen readers notice a change only in an element that was there before.
export function announce(text) {
  document.getElementById("status").textContent = text;
}

export function go(place, replace) {
  if (!replace) {
    location.hash = place;
    return;
  }
  history.replaceState(null, "", `#${place}`);
  dispatchEvent(new Event("hashchange"));
}

export async function copy({ currentTarget: button }, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = t("copied");
  announce(t("copied"));
}

export function moment(seconds) {
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  // Digits are compared with those on other screens, so they are the same in every language.
  return date.toLocaleString(`${language}-u-nu-latn`, { dateStyle: today ? undefined : "medium", timeStyle: "short" });
}

export const duration = (seconds) =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((number) => String(Math.floor(number)).padStart(2, "0"))
    .join(":").replace(/^(00:0?|0)/, "");
