// What happened in a step, in one sentence, and the buttons for the next step.

import { toldStep } from "./descent.js";
import { make } from "./dom.js";
import { kernelValue } from "../engine/rules.js";
import { pairsOf } from "../engine/schemes.js";
import { scoresOf } from "./run.js";
import { digits, minus, vector } from "../engine/numbers.js";

const ENDS = {
  converged: "The last pass had no mistake: training ends here.",
  cycle: "The weights of an earlier pass recurred: from here everything repeats.",
};
const signed = (value) => (value < 0 ? `(${digits(value)})` : digits(value));

export class Story {
  constructor(lab) {
    this.lab = lab;
    this.task = make("p", { class: "task" });
    this.text = make("p", { class: "sentence", id: "story", "aria-live": "polite" });
    this.sums = make("p", { class: "sums", id: "sums" });
    this.node = make("section", { class: "card story", "aria-label": "What happens" }, this.task,
      make("div", { class: "told" }, this.text, this.sums), lab.clock.main);
  }

  scene() {
    const { run, fit } = this.lab;
    this.task.textContent = this.lab.descends ? `Goal: ${fit.goal}.` : !run ? "" : run.present.length > 2
      ? "Goal: a region for each class that contains all of its points."
      : `Goal: a ${run.kernel ? "curve" : "line"} with the blue points on one side and the `
        + "orange points on the other.";
  }

  at(t) {
    this.text.setAttribute("aria-live", this.lab.clock.playing ? "off" : "polite");
    this.text.textContent = this.lab.run ? told(this.lab, t)
      : this.lab.descends ? toldStep(this.lab, t) : this.lab.idle;
    this.sums.textContent = this.lab.run && t ? arithmetic(this.lab, t - 1) : "";
  }
}

export function told(lab, t) {
  const { run, scene } = lab;
  if (!t) {
    return `Press Step: the learner visits point ${run.row[0] + 1}${run.kernel ? "" : ` and updates its ${
      run.nVectors > 1 ? "regions if the point is in the wrong one" : "line if the point is on the wrong side"}`}.`;
  }
  const change = run.kernel ? kernelChange : run.nVectors > 1 ? severalChange : lineChange;
  const text = `${was(lab, t - 1)}${change(lab, t - 1)}.`;
  const cycled = run.cycle?.[1];
  const end = t === cycled ? ` ${ENDS.cycle}` : t === run.rounds ? ` ${(!cycled && ENDS[run.reason]) || "This is the last step shown."}` : "";
  return (!run.kernel && scene.settings.keep !== "last" ? `With the last weights, p${text.slice(1)}` : text) + end;
}

// Where the point of a round was before it was learned.
function was({ run, classNames }, round) {
  const row = run.row[round];
  const side = run.sideOf(run.scoresBefore(round));
  const name = (code) => minus(classNames[run.present[code]]);
  const who = `Point ${row + 1} was `;
  if (side === run.codes[row]) {
    if (!run.mistakes[round]) return `${who}classified correctly`;
    const [margin, needed] = (run.margins[round] ?? []).map(digits);
    return `${who}on its side, but too close${needed ? ` (margin ${margin}, needed ${needed})` : ""}`;
  }
  if (side < 0) return `${who}on no side${run.nVectors > 1 ? "" : " (its score was 0)"}`;
  return who + (run.nVectors > 1 ? `predicted as ${name(side)} but is ${name(run.codes[row])}` : "on the wrong side");
}

// How the only weight vector of a run changed.
function lineChange({ run, scene }, round) {
  const { learner, rate, schedule, intercept } = scene.settings;
  const from = intercept ? 0 : 1;
  const [before, after] = [run.weightsAt(round), run.weightsAt(round + 1)].map((w) => w.slice(from));
  if (String(before) === String(after)) {
    return !run.mistakes[round] ? ": nothing changes" : learner === "batch" ? ": the update follows at the end of the pass" : ", but the update is 0";
  }
  const row = run.row[round];
  const way = learner === "batch" || run.codes[row] === 1 ? 1 : -1;
  const rule = learner === "perceptron" ? `w += ${rate === 1 && schedule === "constant" ? "" : "rate "}y x`.replaceAll(" ", "\u00a0")
    : learner === "batch" ? "the pass ends" : "w changes";
  const wrong = run.isWrong(scoresOf([run.weightsAt(round + 1)], ...run.points[row]), row);
  return `: ${rule}, so ${from ? "[w1, w2]" : "[b, w1, w2]"} = ${vector(before)} ${way > 0 ? "+" : "\u2212"} ${
    vector(after.map((w, k) => way * (w - before[k])))} = ${vector(after)}${wrong ? "; the point is still not on its side" : ""}`;
}

function severalChange({ run }, round) {
  const moved = movesOf(run, round);
  if (moved.length) return `: the weights of ${moved.map(([v]) => minus(run.vectors[v])).join(", ")} change`;
  return run.sideOf(run.scoresBefore(round)) < 0 && !run.mistakes[round] ? ": ties go to the first class, so nothing changes" : ": nothing changes";
}

function kernelChange({ run }, round) {
  const changes = run.duals[round];
  if (!changes.length) return ": nothing changes";
  return `: ${run.nVectors > 1 ? "" : `its kernel is ${changes[2] > 0 ? "added" : "subtracted"}, and `}it becomes a support vector`;
}

// The weight vectors that a round moves, and by how much.
function movesOf(run, round) {
  const [before, after] = [run.allWeightsAt(round), run.allWeightsAt(round + 1)];
  return after.map((w, v) => [v, w.map((value, j) => value - before[v][j])]).filter(([, by]) => by.some(Boolean));
}

// The arithmetic of a step: the score as a sum, what it is compared with, and who is predicted.
function arithmetic({ run, scene, classNames }, round) {
  const [row, scores] = [run.row[round], run.scoresBefore(round)];
  const [x1, x2] = run.points[row];
  const name = (k) => minus(classNames[run.present[k]]);
  if (run.kernel && run.nVectors === 1) return kernelSum(run, scene.settings, round);
  if (run.nVectors > 1) {
    const each = scores.map((s, v) => `${minus(run.vectors[v])} ${digits(s)}`).join(", ");
    if (run.scheme !== "ovo") {
      const moved = run.kernel ? [] : movesOf(run, round);
      return `Scores: ${each}.${moved.map(([v, by]) => ` ${minus(run.vectors[v])} moves by ${vector(by)}.`).join("")}`;
    }
    const won = run.present.map(() => 0);
    pairsOf(run.present.length).forEach(([a, b], v) => { won[scores[v] > 0 ? b : a] += 1; });
    return `Scores: ${each}. Votes: ${won.map((n, k) => `${name(k)} ${n}`).join(", ")}.`;
  }
  const y = run.codes[row] === 1 ? 1 : -1;
  const [b, w1, w2] = run.weightsAt(round).map(signed);
  const sum = `${scene.settings.intercept ? `${b} + ` : ""}${w1}\u00B7${signed(x1)} + ${w2}\u00B7${signed(x2)}`;
  const margin = run.margins[round];
  const test = margin ? `divided by the lengths of x and w ${digits(margin[0])}, needed gamma/2 = ${digits(margin[1])}`
    : `y \u00B7 score = ${digits(y * scores[0])} ${y * scores[0] > 0 ? "> 0" : "\u2264 0"}`;
  return `y = ${y > 0 ? "+1" : "\u22121"}, score = ${sum} = ${digits(scores[0])}, ${test}.`;
}

// The score of a kernel perceptron: a sum over the points that were mistakes.
function kernelSum(run, settings, round) {
  const duals = new Map();
  for (let t = 0; t < round; t += 1) {
    for (let k = 0; k < run.duals[t].length; k += 3) {
      const [, j, change] = run.duals[t].slice(k, k + 3);
      duals.set(j, (duals.get(j) ?? 0) + change);
    }
  }
  const x = run.points[run.row[round]];
  const terms = [...duals].filter(([, a]) => a).map(([j, a]) => [a, kernelValue(settings, run.points[j], x), j]);
  const shown = terms.slice(0, 4).map(([a, K, j], k) => `${a < 0 ? "\u2212" : k ? "+" : ""} ${Math.abs(a) === 1 ? "" : `${digits(Math.abs(a))} `}K(${
    j + 1}, ${run.row[round] + 1}) [${digits(K)}]`).join(" ");
  return `Score = ${terms.length ? `${shown.trim()}${terms.length > 4 ? ` and ${terms.length - 4} more` : ""}` : "the empty sum"} = ${
    digits(run.scoresBefore(round)[0])}.`;
}
