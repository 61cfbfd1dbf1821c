// The page: the engine beside it in a worker, or, where a host forbids that, in the page itself.

import { Lab } from "./lab.js";

const source = `<!DOCTYPE html>\n${document.documentElement.outerHTML}\n`;
const file = JSON.parse(document.getElementById("file").textContent);
const code = document.getElementById("engine").textContent;
let lab = null;
const take = ({ data }) => { if (data.kind !== "file") lab.answered(data); };

function started() {
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    worker.addEventListener("message", take);
    return (message) => worker.postMessage(message);
  } catch {
    const answer = new Function(`${code}; return answer;`)(); // eslint-disable-line no-new-func
    return (message) => setTimeout(() => take({ data: answer(message) }));
  }
}

const send = started();
send({ kind: "file", file });
// The file with another scene in it, to begin with.
const saved = (first) => source.replace(/("first":)"(?:[^"\\]|\\.)*"/, (_, key) => key + JSON.stringify(first).replaceAll("<", "\\u003c"));
lab = new Lab(document.getElementById("page"), { send, saved });
