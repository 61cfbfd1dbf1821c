// Weights of a perceptron that recur at the start of a pass: noticed in floats, confirmed in whole
// numbers, in which the passes between are repeated without rounding.

import { exact, printed } from "./exact.js";
import { pairsOf } from "./schemes.js";

const GRID = 1e9;
//: bits, or decimals, of a value that are repeated; recurrences that are not confirmed before one gives up
const MOST_DIGITS = { 2: 256, 10: 15 };
const MOST_FAILURES = 3;

// The binary classifiers of a scheme: rows, their classes, and their weight vectors.
function partsOf(scheme, codes, k) {
  const all = codes.map((_, row) => row);
  if (scheme === "native" || scheme === "binary") {
    return [{ rows: all, codes, vectors: scheme === "native" ? [...Array(k).keys()] : [0] }];
  }
  if (scheme === "ovr") return [...Array(k).keys()].map((c) => ({ rows: all, codes: codes.map((code) => Number(code === c)), vectors: [c] }));
  return pairsOf(k).map(([a, b], v) => {
    const rows = all.filter((row) => codes[row] === a || codes[row] === b);
    return { rows, codes: rows.map((row) => Number(codes[row] === b)), vectors: [v] };
  });
}

// A float as it is stored (base 2), or as it is printed (base 10): a whole number, and the places that
// it has behind the point.
function placed(x, base) {
  if (base === 10) return printed(x);
  const { top, bottom } = exact(x);
  return [top, bottom.toString(2).length - 1];
}

// A float as a whole number of steps of base ** -places.
function onGrid(x, base, places) {
  const [all, own] = placed(x, base);
  return all * BigInt(base) ** BigInt(places - own);
}

export class Recurrence {
  // `inseparable` decides whether no weights separate rows: those that are short decimals only as they
  // are printed recur surely only then.
  constructor(settings, scheme, rows, codes, k, start, inseparable) {
    Object.assign(this, { settings, rows, k: scheme === "native" ? k : 2, inseparable, failures: 0,
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
    const found = !lengths.includes(0) && this.confirmed(vectors, lengths);
    if (!lengths.includes(0) && !found) this.failures += 1;
    keys.forEach((key, p) => this.seen[p].set(key, passes));
    return found;
  }

  confirmed(vectors, lengths) {
    for (const base of [2, 10]) {
      const power = Math.max(...this.rows.flat().map((v) => placed(v, base)[1]));
      if (power > MOST_DIGITS[base]) continue; // eslint-disable-line no-continue
      let some = false;
      const all = this.parts.every((part, p) => {
        const mistakes = this.again(part.vectors.map((v) => vectors[v]), part, lengths[p], base, power);
        if (mistakes) some = true;
        return mistakes !== null && (base === 2 || !mistakes
          || this.inseparable(part.rows.map((row) => this.rows[row]), part.codes));
      });
      if (all && some) return true;
    }
    return false;
  }

  // The mistakes of passes that lead back to their weights, null if they do not.
  again(vectors, part, passes, base, power) {
    const { rate, intercept, learner } = this.settings;
    const values = vectors.map(([b, ...w]) => (intercept ? [...w, b] : w));
    const places = Math.max(placed(rate, base)[1] + power,
      ...(base === 2 ? values.flat().map((v) => placed(v, 2)[1]) : []));
    if (places > 4 * MOST_DIGITS[2]) return null;
    const unit = BigInt(base) ** BigInt(places);
    const begun = values.map((vector) => vector.map((v) => rounded(exact(v), unit)));
    if (base === 10 && values.some((vector, c) => vector.some((v, j) => (
      Math.abs(Number(begun[c][j]) / Number(unit) - v) > 1e-9 * Math.max(1, Math.abs(v)))))) return null;
    const rows = part.rows.map((row) => [...this.rows[row].map((v) => onGrid(v, base, power)),
      ...(intercept ? [BigInt(base) ** BigInt(power)] : [])]);
    return repeated(begun, rows, part.codes, onGrid(rate, base, places - power), passes, learner === "batch");
  }
}

// The whole number nearest to a fraction times a unit.
const rounded = ({ top, bottom }, unit) => {
  const [up, down] = [2n * top * unit + bottom, 2n * bottom];
  return up / down - (up % down < 0n ? 1n : 0n);
};

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
