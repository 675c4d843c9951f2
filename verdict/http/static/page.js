// Chromium under LANG=C has a language (en-US@posix) that Intl refuses, and uPlot uses Intl.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}

// The live part is fetched again while the page is visible; the page says when there is no response.
const PAUSE_MS = 2000;
const live = document.getElementById("live");
let answered = new Date();

// Unchanged elements stay, with focus, selection and scroll position.
function update(shown, fresh) {
  const ours = [...shown.childNodes], theirs = [...fresh.childNodes];
  for (const [at, one] of theirs.entries()) {
    if (ours[at]?.nodeName !== one.nodeName) ours[at] ? ours[at].replaceWith(one) : shown.append(one);
    else if (one.nodeType === Node.TEXT_NODE) { if (ours[at].data !== one.data) ours[at].data = one.data; }
    else {
      for (const name of ours[at].getAttributeNames()) if (!one.hasAttribute(name)) ours[at].removeAttribute(name);
      for (const { name, value } of one.attributes) if (ours[at].getAttribute(name) !== value) ours[at].setAttribute(name, value);
      update(ours[at], one);
    }
  }
  for (const one of ours.slice(theirs.length)) one.remove();
}

// Times are shown relative to the clock of the server; the title has the time itself.
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
    update(live, fresh);
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
