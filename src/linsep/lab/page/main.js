// The page: the engine beside it in a worker, or, where a host forbids that, in the page itself.

import { Lab } from "./lab.js";

const source = `<!DOCTYPE html>\n${document.documentElement.outerHTML}\n`;
const file = JSON.parse(document.getElementById("file").textContent);
const code = document.getElementById("engine").textContent;
let lab = null;
let worker = null;
let reach = (message) => worker?.postMessage(message);
let unanswered = []; // messages until the engine answers
const take = ({ data }) => { unanswered = null; if (data.kind !== "file") lab.answered(data); };
const send = (message) => { unanswered?.push(message); reach(message); };

function inPage() {
  if (!unanswered) return;
  const script = document.createElement("script");
  script.textContent = `window.linsepAnswer = (() => {${code}return answer; })();`;
  document.head.append(script);
  const { linsepAnswer: answer } = window;
  if (!answer) { lab.fail("The lab cannot compute here: this site forbids workers and scripts. Save the page, and open the file from your disk."); return; }
  reach = (message) => setTimeout(() => take({ data: answer(message) }));
  unanswered.forEach(reach);
}

try {
  worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  worker.addEventListener("message", take);
  worker.addEventListener("error", inPage);
} catch {
  setTimeout(inPage);
}
send({ kind: "file", file });
// The file with another scene in it, to begin with.
const saved = (first) => source.replace(/("first":)"(?:[^"\\]|\\.)*"/, (_, key) => key + JSON.stringify(first).replaceAll("<", "\\u003c"));
lab = new Lab(document.getElementById("page"), { send, saved });
