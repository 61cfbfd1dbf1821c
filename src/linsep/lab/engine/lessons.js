// Lessons: Markdown of short steps with a scene, a question, and an answer that is judged.

import { sceneOfUrl } from "./scene.js";

const SCENE = /\[([^\]]*)\]\(#([^)\s]*)\)/;
const INLINE = /\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`/g;

// The title and the steps of a lesson, which the command found to have titles and setups; an error names
// the step that is not valid.
export function parsedLesson(text, name, ready) {
  const [head, ...parts] = text.split(/^## +/m);
  return { name, title: head.replace(/^\s*# +/, "").split("\n")[0].trim(), steps: parts.map((part, k) => step(part, `The lesson ${name}, step ${k + 1},`, ready)) };
}

function step(text, where, ready) {
  const [title, ...lines] = text.split("\n");
  const rest = lines.join("\n");
  const scene = SCENE.exec(rest);
  try { sceneOfUrl(scene[2], ready); } catch (problem) { throw new Error(`${where} has an invalid setup. ${problem.message}`); }
  const blocks = rest.replace(scene[0], "").split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean);
  const asked = blocks.map((block) => /^= (.*)$/s.exec(block)?.[1]).find(Boolean);
  return { title: title.trim(), url: scene[2], more: scene[1].includes("More"), asked: asked ? wanted(asked, where) : null,
    body: blocks.filter((block) => !block.startsWith("= ")).map(paragraph) };
}

// What is right: "numbers 0, 3, 2", "points 1, 4", or "choice no; *yes*; never" with the right one marked.
function wanted(text, where) {
  const [, kind, rest] = /^(numbers|points|choice) (.*)$/s.exec(text) ?? [];
  if (kind === "choice") {
    const choices = rest.split(";").map((one) => one.trim());
    return { kind, choices: choices.map((one) => one.replaceAll("*", "")), right: choices.findIndex((one) => one.startsWith("*")) };
  }
  const numbers = (rest ?? "").split(",").map((one) => Number(one.replace("\u2212", "-")));
  if (!kind || numbers.some(Number.isNaN)) throw new Error(`${where} has an answer that cannot be judged: = numbers, = points or = choice.`);
  return { kind, right: numbers };
}

// A paragraph, or what is shown with an answer, as pieces of (style, text).
function paragraph(block) {
  const answer = block.startsWith(">");
  const text = block.split("\n").map((line) => (answer ? line.replace(/^>/, "") : line).trim()).join(" ");
  const pieces = [];
  let place = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > place) pieces.push(["", text.slice(place, match.index)]);
    pieces.push([["strong", "em", "code"][[1, 2, 3].findIndex((k) => match[k])], match[1] ?? match[2] ?? match[3]]);
    place = match.index + match[0].length;
  }
  return { kind: answer ? "answer" : "text", pieces: place < text.length ? [...pieces, ["", text.slice(place)]] : pieces };
}
