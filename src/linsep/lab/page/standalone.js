// The page in a file of its own: one answer is written into it, and nothing is asked.

import { Lab } from "./lab.js";

const answer = JSON.parse(document.getElementById("answer").textContent);
new Lab(document.getElementById("page"), null, answer);
