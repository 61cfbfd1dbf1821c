// The page on a static host: its first answer is written into it, a worker gives the others.

import { make } from "./dom.js";
import { Lab } from "./lab.js";

const first = JSON.parse(document.getElementById("answer").textContent);
const worker = new Worker("worker.js", { type: "module" });
if (!location.hash && !location.search) history.replaceState(null, "", `#${first.url}`);
const lab = new Lab(document.getElementById("page"),
  { send: (message) => worker.postMessage(message) }, first);
const says = make("p", { class: "status", id: "python", role: "status" },
  "Python is loading: you can step through the run now; changes apply when it has loaded.");
says.style.cssText = "position: fixed; right: 0; bottom: 0; margin: 0; padding: 8px 16px; "
  + "background: var(--paper)"; // what is clicked meanwhile does not move
lab.node.append(says);

// A page of the same host around this one may be light or dark (`data-theme`): follow it.
function follow() {
  let outer = null;
  try { outer = parent === window ? null : parent.document.documentElement; } catch { return; } // of another host
  if (!outer?.dataset.theme) return;
  const dark = [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules])
    .find(({ media }) => media?.mediaText.includes("dark"));
  const show = () => {
    dark.media.mediaText = outer.dataset.theme === "dark" ? "all" : "not all";
    document.documentElement.style.colorScheme = outer.dataset.theme;
  };
  show();
  new MutationObserver(show).observe(outer, { attributeFilter: ["data-theme"] });
}
follow();

function failed(fault) {
  says.textContent = "Python did not start, so nothing can be changed: serve this folder with a web server. "
    + fault;
}

// The features that the page does not have are listed below it.
function ready() {
  says.textContent = first.offers;
  says.style.cssText = "";
}

worker.addEventListener("message", ({ data }) => {
  if (data.kind === "failed") failed(data.fault);
  else if (data.kind === "ready") ready();
  else lab.answered(data);
});
worker.addEventListener("error", (event) => failed(event.message ?? ""));
if (location.hash.slice(1) !== first.url || location.search) lab.reopen();
