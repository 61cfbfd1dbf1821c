// Weights of a perceptron that recur at the start of a pass: noticed in floats, confirmed in whole
// numbers, in which the passes between are repeated without rounding. Coordinates are decimals as they
// are printed, so what recurs is sure only if no weights separate the rows.

import { exact, printed, whole } from "./exact.js";
import { SCHEMES } from "./schemes.js";

const GRID = 1e9;
//: decimals of a value, and recurrences that are not confirmed before one gives up
const [MOST_DECIMALS, MOST_FAILURES] = [15, 3];

// The binary classifiers of a scheme: rows, their classes, and their weight vectors.
function partsOf(scheme, codes, k) {
  const how = new SCHEMES[scheme](k);
  if (how.joint) return [{ rows: [...codes.keys()], codes, vectors: [...Array(k).keys()] }];
  return [...Array(how.vectors).keys()].map((v) => {
    const shown = codes.flatMap((code, row) => how.sides(code).filter(([vector]) => vector === v).map(([, y]) => [row, Number(y > 0)]));
    return { rows: shown.map(([row]) => row), codes: shown.map(([, code]) => code), vectors: [v] };
  });
}

export class Recurrence {
  // `inseparable` decides whether no weights separate rows.
  constructor(settings, scheme, rows, codes, k, start, inseparable) {
    const power = Math.max(...rows.flat().map((x) => printed(x)[1]));
    Object.assign(this, { settings, rows, start, inseparable, power, failures: power > MOST_DECIMALS ? MOST_FAILURES : 0,
      parts: partsOf(scheme, codes, k) });
    this.seen = this.keys(start).map((key) => new Map([[key, 0]]));
  }

  keys(vectors) {
    return this.parts.map((part) => part.vectors.map((v) => vectors[v].map((w) => Math.round(w * GRID))).join(";"));
  }

  // Whether the weights after so many passes are those before an earlier one.
  after(vectors, passes) {
    if (this.failures === MOST_FAILURES || !vectors.flat().every(Number.isFinite)) return false;
    const keys = this.keys(vectors);
    const lengths = keys.map((key, p) => passes - (this.seen[p].get(key) ?? passes));
    keys.forEach((key, p) => this.seen[p].set(key, passes));
    if (lengths.includes(0)) return false;
    const mistakes = this.parts.map((part, p) => this.again(vectors, part, lengths[p]));
    const found = mistakes.some(Boolean) && this.parts.every((part, p) => mistakes[p] === 0
      || (mistakes[p] && this.inseparable(part.rows.map((row) => this.rows[row]), part.codes)));
    if (!found) this.failures += 1;
    return found;
  }

  // The mistakes of passes that lead back to their weights, null if they do not. In units that make them
  // whole, weights are those at the start and a whole number of steps of the learning rate.
  again(vectors, part, passes) {
    const { power, start, settings: { rate, intercept, learner } } = this;
    const [ten, from] = [10 ** power, intercept ? 0 : 1];
    const of = (all) => part.vectors.map((v) => [...all[v].slice(1), ...all[v].slice(0, 1 - from)]);
    const [firsts, values] = [of(start), of(vectors)];
    const steps = values.map((vector, c) => vector.map((w, j) => Math.round(((w - firsts[c][j]) / rate) * ten)));
    const near = (w, first, n) => Math.abs(first + (n / ten) * rate - w) <= 1e-9 * Math.max(1, Math.abs(w));
    if (!values.every((vector, c) => vector.every((w, j) => near(w, firsts[c][j], steps[c][j])))) return null;
    const [[[step], ...begun]] = whole([[exact(rate)], ...firsts.map((vector) => vector.map(exact))]);
    const rows = part.rows.map((row) => [...this.rows[row], ...(intercept ? [1] : [])].map((x) => {
      const [all, places] = printed(x);
      return all * 10n ** BigInt(power - places);
    }));
    return repeated(begun.map((vector, c) => vector.map((w, j) => w * BigInt(ten) + step * BigInt(steps[c][j]))),
      rows, part.codes, step, passes, learner === "batch");
  }
}

// The mistakes of passes of whole numbers, by one vector or by one for each class; null if they do not
// return to the weights.
function repeated(begun, rows, codes, step, passes, batch) {
  const weights = begun.map((vector) => [...vector]);
  let mistakes = 0;
  for (let pass = 0; pass < passes; pass += 1) {
    let waiting = [];
    rows.forEach((x, row) => {
      const s = weights.map((w) => x.reduce((sum, v, j) => sum + v * w[j], 0n));
      let moves = [];
      if (s.length === 1) {
        const y = codes[row] === 1 ? 1n : -1n;
        if (y * s[0] <= 0n) moves = [[0, y]];
      } else {
        const best = s.reduce((top, v, c) => (v > s[top] ? c : top), 0);
        if (best !== codes[row]) moves = [[codes[row], 1n], [best, -1n]];
      }
      mistakes += Number(moves.length > 0);
      waiting.push(...moves.map(([c, sign]) => [c, sign, x]));
      if (batch && row < rows.length - 1) return;
      waiting.forEach(([c, sign, z]) => z.forEach((v, j) => { weights[c][j] += sign * step * v; }));
      waiting = [];
    });
  }
  return weights.every((w, c) => w.every((v, j) => v === begun[c][j])) ? mistakes : null;
}
