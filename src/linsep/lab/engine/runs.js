// A run of a scene, in columns that the page scrubs: position 0 is before its first step, t after step t.

import { Recurrence } from "./cycles.js";
import { kernelValue, RULES } from "./rules.js";
import { averages, cycleOf, pockets, run, vectorNames } from "./running.js";
import { SCHEMES } from "./schemes.js";
import { classNames, codesOf, presentCodes, rowsOf } from "./scene.js";
import { decided, jointRows, TooLong } from "./separation.js";
import { LEARNERS } from "./settings.js";
import { ordersOf } from "./shuffle.js";

//: most weight vectors, counted once per step, and most products of a kernel run
const [MOST_VECTORS, MOST_PRODUCTS] = [100000, 4000000];

// The classes counted from 0 without gaps.
export function denseCodes(scene) {
  const present = presentCodes(scene);
  return codesOf(scene).map((code) => present.indexOf(code));
}

export const schemeOf = (scene) => (presentCodes(scene).length <= 2 ? "binary" : scene.settings.classes);
export const learnsIntercept = ({ settings }) => settings.intercept || !LEARNERS[settings.learner].intercept;

const vectorsIn = (scene) => new SCHEMES[schemeOf(scene)](presentCodes(scene).length).vectors;

export function runOf(scene) {
  const present = presentCodes(scene);
  if (present.length < 2) throw new Error("Place points of at least two classes.");
  const { zero, learner, start } = scene.settings;
  if (zero !== "mistake" && ["perceptron", "batch"].includes(learner)) {
    if (schemeOf(scene) === "native") throw new Error("The joint rule compares scores, so a score of zero has no meaning: choose one-vs-rest or one-vs-one.");
    if (zero === "correct" && !start.some(Boolean)) throw new Error("If scores of zero are correct, zero weights never change: choose initial weights.");
  }
  const columns = scene.settings.learner === "kernel" ? kernelColumns(scene) : linearColumns(scene);
  if (![columns.weights, columns.average, columns.scores].every((column) => column.every(Number.isFinite))) {
    throw new Error("The weights overflow: use smaller coordinates or a smaller rate.");
  }
  return { ...columns, vectors: vectorNames(present.map((code) => classNames(scene)[code]), scene.settings.classes), present,
    scheme: schemeOf(scene) };
}

// Steps until a pass without a mistake, a cycle, or the most that are shown; the first is the start.
function steps(scene, rule, rows, recurs) {
  const { settings } = scene;
  const [codes, scheme, k] = [denseCodes(scene), schemeOf(scene), presentCodes(scene).length];
  const { start, learner, shuffle, seed, rounds } = settings;
  const begun = LEARNERS[learner].start && start.some(Boolean)
    ? Array.from({ length: vectorsIn(scene) }, () => (learnsIntercept(scene) ? start : [0, ...start.slice(1)])) : null;
  const going = run(rule, scheme, rows, codes, k, { intercept: learnsIntercept(scene) && !["winnow", "kernel"].includes(learner),
    orders: ordersOf(rows.length, seed, shuffle), start: begun, passes: rounds });
  const { weights: first } = going.next().value;
  const found = [];
  let [closed, clean, cut] = [false, true, false];
  const recurrence = recurs?.(first);
  for (const step of going) {
    const last = found.at(-1);
    if (last && step.pass !== last.pass) {
      closed ||= Boolean(recurrence?.after(last.weights, step.pass));
      if (closed && !settings.beyond) break;
      clean = true;
    }
    if (found.length === rounds) { cut = true; break; }
    clean &&= !step.mistakes;
    found.push(step);
  }
  if (!cut && !closed && !clean && recurrence) closed = recurrence.after(found.at(-1).weights, found.at(-1).pass + 1);
  const inPass = found.filter(({ pass }) => pass === found.at(-1).pass);
  const changed = inPass.some(({ updates, tied }) => updates || tied); // or a score of zero is no mistake
  return { first, found, reason: closed ? "cycle" : cut ? "cut" : !clean ? "max_iter" : changed ? "clean" : "converged" };
}

function linearColumns(scene) {
  const { settings } = scene;
  const vectors = vectorsIn(scene);
  if (settings.rounds * vectors > MOST_VECTORS) {
    throw new Error(`${settings.rounds} steps of ${vectors} weight vectors are too many: use at most ${
      Math.floor(MOST_VECTORS / vectors)} steps.`);
  }
  const [rows, codes, k, scheme] = [rowsOf(scene), denseCodes(scene), presentCodes(scene).length, schemeOf(scene)];
  const rule = new RULES[settings.learner](settings);
  const plain = ["perceptron", "batch"].includes(settings.learner) && settings.schedule === "constant"
    && settings.zero === "mistake" && !settings.shuffle;
  const inseparable = (own, sides) => {
    try { return decided(jointRows(own, sides, settings.intercept)).kind !== "separable"; } catch (problem) {
      if (problem instanceof TooLong) return false;
      throw problem;
    }
  };
  const { first, found, reason } = steps(scene, rule, rows, plain
    ? (start) => new Recurrence(settings, scheme, rows, codes, k, start, inseparable) : null);
  const path = [first, ...found.map(({ weights }) => weights)];
  return { ...columnsOf(found), weights: path.flat(2), average: [first, ...averages(found)].flat(2),
    best: [first, ...pockets(found, rule, scheme, rows, codes, k, first)].flat(2), reason,
    cycle: reason === "cycle" ? cycleOf(found, path) : null };
}

function columnsOf(found) {
  const of = (name) => found.map((step) => step[name]);
  return { rounds: found.length, row: of("row"), pass: found.map(({ pass }) => pass + 1), mistakes: of("mistakes"),
    updates: of("updates"), scores: of("scores").flat(), margins: of("margin").filter(Boolean) };
}

function kernelColumns(scene) {
  const rows = rowsOf(scene);
  const [n, { rounds }] = [rows.length, scene.settings];
  if (n * rounds * vectorsIn(scene) > MOST_PRODUCTS) {
    throw new Error(`${rounds} steps with ${n} points are too many for a kernel: use fewer steps.`);
  }
  const dual = rows.map((x, i) => [...rows.map((z) => kernelValue(scene.settings, x, z)), ...rows.map((_, j) => Number(i === j))]);
  const { found, reason } = steps(scene, new RULES.kernel(scene.settings), dual, null);
  let before = Array.from({ length: vectorsIn(scene) }, () => new Array(n).fill(0));
  const duals = found.map(({ weights }) => {
    const after = weights.map((vector) => vector.slice(1, n + 1));
    const changes = after.flatMap((vector, v) => vector.flatMap((a, j) => (a === before[v][j] ? [] : [v, j, a - before[v][j]])));
    before = after;
    return changes;
  });
  return { ...columnsOf(found), duals, average: [], best: [], weights: [], cycle: null,
    reason: ["converged", "clean"].includes(reason) ? "converged" : "cut" };
}
