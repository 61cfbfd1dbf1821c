// Python beside the page: Pyodide loads the sources of the lab, and answers as its server does.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const START = `
import json, sys
sys.path.insert(0, "/lab")
from linsep.lab.answer import answer
lambda message: json.dumps(answer(json.loads(message)))
`;

async function started() {
  const sources = fetch("linsep.zip").then((response) => response.arrayBuffer());
  const python = await loadPyodide({ indexURL: new URL("pyodide/", self.location.href).href });
  python.unpackArchive(await sources, "zip", { extractDir: "/lab" });
  return python.runPython(START);
}

const python = started();

self.addEventListener("message", async ({ data }) => {
  const answer = await python;
  try {
    self.postMessage(JSON.parse(answer(JSON.stringify(data))));
  } catch (problem) { // else the page would wait for ever
    self.postMessage({ kind: data.kind, number: data.number, fault: `Python failed: ${problem}` });
  }
});

python.then(() => self.postMessage({ kind: "ready" }),
  (problem) => self.postMessage({ kind: "failed", fault: String(problem) }));
