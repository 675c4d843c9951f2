// Chromium under LANG=C has a language (en-US@posix) that its own Intl refuses, and uPlot asks for.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}

// The live part is asked for anew while somebody looks; a page without an answer says so.
const PAUSE_MS = 2000;
const live = document.getElementById("live");
let answered = new Date();

// What stays the same stays where it is, with focus, selection and how far it is scrolled.
function become(shown, fresh) {
  const ours = [...shown.childNodes], theirs = [...fresh.childNodes];
  for (const [at, one] of theirs.entries()) {
    if (ours[at]?.nodeName !== one.nodeName) ours[at] ? ours[at].replaceWith(one) : shown.append(one);
    else if (one.nodeType === Node.TEXT_NODE) { if (ours[at].data !== one.data) ours[at].data = one.data; }
    else {
      for (const name of ours[at].getAttributeNames()) if (!one.hasAttribute(name)) ours[at].removeAttribute(name);
      for (const { name, value } of one.attributes) if (ours[at].getAttribute(name) !== value) ours[at].setAttribute(name, value);
      become(ours[at], one);
    }
  }
  for (const one of ours.slice(theirs.length)) one.remove();
}

// How long ago a time was, by the clock of the server; the time itself stays as its title.
const SKEW_MS = Date.now() - new Date(document.body.dataset.now);
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function ago(time) {
  const seconds = Math.max(0, Math.floor((Date.now() - SKEW_MS - new Date(time)) / 1000));
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

function relate() {
  for (const one of document.querySelectorAll("time")) one.textContent = ago(one.dateTime);
}

async function renew() {
  try {
    const answer = await fetch(live.dataset.from, { signal: AbortSignal.timeout(30000) });
    if (!answer.ok) throw new Error(answer.status);
    const fresh = document.createElement("div");
    fresh.innerHTML = await answer.text();
    become(live, fresh);
    relate();
    answered = new Date();
    document.body.classList.remove("silent");
  } catch {
    document.body.classList.add("silent");
    document.getElementById("since").textContent = answered.toLocaleTimeString();
  }
}

async function follow() {
  for (;;) {
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    if (!document.hidden) await renew();
  }
}

if (live) follow();
relate();
setInterval(relate, 1000);
