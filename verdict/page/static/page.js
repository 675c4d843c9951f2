// The live part is asked for anew while somebody looks; a page without an answer says so.
const PAUSE_MS = 2000;
const live = document.getElementById("live");
let answered = new Date();

async function renew() {
  try {
    const answer = await fetch("/live", { signal: AbortSignal.timeout(30000) });
    if (!answer.ok) throw new Error(answer.status);
    const open = [...live.querySelectorAll("details[open]")].map((one) => one.id);
    live.innerHTML = await answer.text();
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
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
