// How binary classifiers learn two or more classes, numbered 0, 1, 2, ...: which examples each of them
// gets, and what their scores predict. Of equal scores the first class wins, or for `last` the last one.

import { dot } from "./exact.js";
import { Machine } from "./rules.js";

export function pairsOf(k) {
  const found = [];
  for (let a = 0; a < k; a += 1) for (let b = a + 1; b < k; b += 1) found.push([a, b]);
  return found;
}

const highest = (scores, last) => (last ? scores.lastIndexOf(Math.max(...scores)) : scores.indexOf(Math.max(...scores)));

// A machine for each weight vector.
class Separate {
  constructor(k, zero = "mistake") { Object.assign(this, { k, zero }); }

  // Whether a score is a mistake for the target y; a score of 0 as the setting says.
  wrong(score, y) {
    return score === 0 ? this.zero === "mistake" || (this.zero === "negative" && y > 0) : y * score < 0;
  }

  get vectors() { return this.k; }

  machines(vectors) { return vectors.map(([b, ...w]) => new Machine(w, [b])); }

  // The intercept and the weights of every vector.
  weights(machines) { return machines.map(({ weights, intercept }) => [intercept[0], ...weights]); }

  scores(machines, x) { return this.weights(machines).map(([b, ...w]) => dot(x, w) + b); }

  show(machines, x, one, code) {
    const scores = this.scores(machines, x);
    return this.sides(code).map(([machine, y]) => ({ machine, example: { x, ones: [one] }, y,
      score: scores[machine], wrong: this.wrong(scores[machine], y) }));
  }
}

class Binary extends Separate {
  get vectors() { return 1; }

  sides(code) { return [[0, code === 1 ? 1 : -1]]; }

  predict([score], last = false) { return score > 0 || (last && score === 0) ? 1 : 0; }
}

class OneVsRest extends Separate {
  sides(code) { return Array.from({ length: this.k }, (_, k) => [k, k === code ? 1 : -1]); }

  predict(scores, last = false) {
    const claims = scores.map((s, k) => (s > 0 ? k : -1)).filter((k) => k >= 0);
    return claims.length === 1 ? claims[0] : highest(scores, last);
  }
}

class OneVsOne extends Separate {
  get vectors() { return pairsOf(this.k).length; }

  sides(code) {
    return pairsOf(this.k).map(([a, b], k) => (a === code || b === code ? [k, b === code ? 1 : -1] : null))
      .filter(Boolean);
  }

  // The class with the most wins, of equals the one with the highest sum of scores.
  predict(scores, last = false) {
    const [won, sum] = [new Array(this.k).fill(0), new Array(this.k).fill(0)];
    pairsOf(this.k).forEach(([a, b], k) => {
      won[scores[k] > 0 || (last && scores[k] === 0) ? b : a] += 1;
      sum[b] += scores[k];
      sum[a] -= scores[k];
    });
    return won.reduce((best, wins, k) => ((wins - won[best] || sum[k] - sum[best] || Number(last)) > 0 ? k : best), 0);
  }
}

// One joint rule (Kesler): the row of class c against its rival r is the long example with the row in
// part c, minus the row in part r, and zeros elsewhere.
class Native extends Separate {
  get joint() { return true; }

  machines(vectors) { return [new Machine(vectors.flatMap(([, ...w]) => w), vectors.map(([b]) => b))]; }

  weights([{ weights, intercept }]) {
    const d = weights.length / this.k;
    return intercept.map((b, c) => [b, ...weights.slice(c * d, (c + 1) * d)]);
  }

  predict(scores, last = false) { return highest(scores, last); }

  show(machines, x, one, code) {
    const s = this.scores(machines, x);
    const predicted = this.predict(s);
    const others = s.map((v, k) => (k === code ? -Infinity : v));
    const rival = predicted === code ? highest(others) : predicted;
    const signs = s.map((_, c) => (c === code) - (c === rival));
    const example = { x: signs.flatMap((sign) => x.map((v) => sign * v)), ones: signs.map((sign) => sign * one) };
    return [{ machine: 0, example, y: 1, score: s[code] - s[rival], wrong: predicted !== code }];
  }
}

export const SCHEMES = { binary: Binary, native: Native, ovr: OneVsRest, ovo: OneVsOne };
