// The verdict on two classes as a proof file that linsep.check and linsep verify read, and its points.

import { exact, lowestTerms, ONE, root, whole, ZERO } from "./exact.js";
import { csvText, isNumber } from "./numbers.js";
import { denseCodes, learnsIntercept } from "./runs.js";
import { classNames, presentCodes, rowsOf, TARGETS } from "./scene.js";
import { separation } from "./separation.js";
import { hexOf, sha256 } from "./sha256.js";

// The points as CSV, the name of the column of their classes, and the labels as the checker reads them.
export function pointsCsv(scene) {
  const target = TARGETS.find((name) => !scene.features.includes(name));
  const names = classNames(scene).map((name) => (isNumber(name) ? name.replace(/^\+/, "") : name));
  const own = scene.points.map(([, , code]) => names[code]);
  const isTruth = (name) => ["true", "false"].includes(name.toLowerCase());
  return { text: csvText([[...scene.features, target], ...scene.points.map(([x, y], row) => [x, y, own[row]])]), target,
    labels: own.every(isNumber) ? own.map(Number) : own.every(isTruth) ? own.map((name) => name.toLowerCase() === "true") : own };
}

const json = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const hex = (v) => (v < 0n ? `-0x${(-v).toString(16)}` : `0x${v.toString(16)}`);
const wholeOf = (fractions) => lowestTerms(whole([fractions])[0][0]);

// The SHA-256 of rows and labels in canonical form.
function hashOf(rows, labels) {
  const parts = [[], [], []];
  const words = (part, ...numbers) => numbers.forEach((n) => part.push(n & 255, (n >> 8) & 255, (n >> 16) & 255, (n >>> 24) & 255));
  const known = [...new Set(labels)];
  rows.forEach((x, row) => {
    const there = [...x.keys()].filter((j) => x[j]);
    const starts = there.filter((j) => !there.includes(j - 1));
    words(parts[0], known.indexOf(labels[row]), starts.length);
    starts.forEach((j) => {
      let end = j;
      while (there.includes(end + 1)) end += 1;
      words(parts[1], j, end - j + 1);
    });
    there.forEach((j) => parts[2].push(...new Uint8Array(new Float64Array([x[j]]).buffer)));
  });
  const about = `{"rows": ${rows.length}, "features": ${rows[0].length}, "labels": [${known.map(json).join(", ")}]}`;
  const text = new TextEncoder();
  return hexOf(sha256(Uint8Array.from([...text.encode("linsep rows 1\n"), ...parts.flatMap((part) => [...sha256(Uint8Array.from(part))]),
    ...text.encode(about)])));
}

// What is left of a row modulo a space in reduced echelon form, a Map from pivots to rows.
const leftOf = (row, space) => [...space].reduce((rest, [pivot, line]) => rest.map((v, j) => v.minus(row[pivot].times(line[j]))), row);
const some = (row) => row.some(({ top }) => top);

function echelon(rows) {
  let found = new Map();
  rows.forEach((row) => {
    const rest = leftOf(row, found);
    if (!some(rest)) return;
    const pivot = rest.findIndex(({ top }) => top);
    const head = rest.map((v) => v.over(rest[pivot]));
    found = new Map([...[...found].map(([p, line]) => [p, leftOf(line, new Map([[pivot, head]]))]), [pivot, head]]
      .sort(([a], [b]) => a - b));
  });
  return found;
}

const combination = (multipliers) => {
  const rows = [...multipliers.keys()].sort((a, b) => a - b);
  return { rows, which: rows.map(() => 0), multipliers: wholeOf(rows.map((row) => multipliers.get(row))).map(hex) };
};
const keyed = (numbers) => Object.fromEntries([...numbers.entries()].filter(([, v]) => v).map(([j, v]) => [j, hex(v)]));
const plainSpace = (space) => Object.fromEntries([...space].map(([p, line]) => [p, keyed(wholeOf(line))]));

// Columns independent of the constant and of earlier ones, with their rows.
function kept(space, bias) {
  const found = new Map(space);
  if (!bias) return found;
  const one = [...space.values()][0].length - 1;
  const holders = [...found.keys()].filter((p) => p !== one && found.get(p)[one].top).sort((a, b) => a - b);
  if (!holders.length) return found;
  const last = found.get(holders.at(-1));
  const out = last.map((v) => v.over(last[one]));
  found.delete(holders.at(-1));
  found.set(one, out);
  holders.slice(0, -1).forEach((p) => {
    const row = found.get(p);
    found.set(p, row.map((v, j) => v.minus(row[one].times(out[j]))));
  });
  return found;
}

function notSeparable(found, rows, signs, bias) {
  const A = rows.map((x, i) => [...x.map(exact), ...(bias ? [ONE] : [])].map((v) => (signs[i] < 0 ? ZERO.minus(v) : v)));
  const space = echelon([...found.spanning.keys()].map((i) => A[i]));
  const proved = { witness: combination(found.multipliers), spanning: combination(found.spanning), space: plainSpace(space) };
  if (found.kind === "overlapping") return proved;
  const everything = echelon(A);
  const basis = A.reduce((chosen, _, i) => (echelon([...chosen, i].map((k) => A[k])).size > chosen.length ? [...chosen, i] : chosen), []);
  return { ...proved, direction: keyed(wholeOf(found.weights)), boundary: found.boundary, everything: plainSpace(everything),
    basis: basis.map((i) => [i, 0]), signs: {},
    unchecked: [...kept(everything, bias)].filter(([, row]) => some(leftOf(row, space))).map(([j]) => j).sort((a, b) => a - b) };
}

export function certified(scene) {
  if (presentCodes(scene).length !== 2) throw new Error("The lab saves proofs for two classes: use the command linsep separate for more.");
  const { text: points, target, labels } = pointsCsv(scene);
  const [rows, bias, codes] = [rowsOf(scene), learnsIntercept(scene), denseCodes(scene)];
  const classes = [...new Set(labels)].sort((a, b) => (a < b ? -1 : 1));
  const signs = labels.map((label) => (label === classes[1] ? 1 : -1));
  const found = separation(rows, signs, bias);
  const separable = () => {
    const weights = wholeOf(found.weights).map(hex);
    return { coef: [weights.slice(0, 2)], intercept: bias ? weights.slice(2) : ["0x0"], margin: root(found.square),
      support: combination(found.multipliers) };
  };
  const plain = { format: "linsep proof 3", recipe: null, data: { rows: codes.length, features: 2, names: scene.features, classes,
    columns: null, sha256: hashOf(rows, labels) }, fit_intercept: bias, formulations: null,
  verdicts: [{ kind: found.kind, positive: [classes[1]], negative: [classes[0]],
    ...(found.kind === "separable" ? separable() : notSeparable(found, rows, signs, bias)) }] };
  const proof = JSON.stringify(plain, (key, value) => (key === "margin" ? value.map((v) => `#${spelled(v)}`) : value), 1);
  return { proof: `${proof.replace(/"#([^"]*)"/g, "$1")}\n`, points, target };
}

// A float as Python writes it, which the canonical form of a proof has.
function spelled(x) {
  const [digits, power] = x.toExponential().split("e");
  if (power >= -4 && power < 16) return Number.isInteger(x) ? `${x}.0` : String(x);
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}
