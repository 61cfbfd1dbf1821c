// The columns of a run that the engine computed: position 0 is before the first round.

import { SCHEMES } from "../engine/schemes.js";

export class Run {
  constructor(columns, points) {
    Object.assign(this, columns);
    this.points = points;
    this.kernel = Boolean(columns.duals);
    this.nVectors = Math.max(1, columns.vectors.length);
    this.kept = { last: Float64Array.from(columns.weights),
      average: Float64Array.from(columns.average), best: Float64Array.from(columns.best) };
    this.madeMistakes = this.sums(columns.mistakes);
    this.madeUpdates = this.sums(columns.updates);
    this.codes = points.map((point) => columns.present.indexOf(point[2]));
    this.how = new SCHEMES[columns.scheme](columns.present.length);
  }

  sums(column) {
    const found = new Float64Array(column.length + 1);
    column.forEach((value, place) => { found[place + 1] = found[place] + value; });
    return found;
  }

  // [b, w1, w2] of a weight vector at a position.
  weightsAt(t, vector = 0, keep = "last") {
    const from = (t * this.nVectors + vector) * 3;
    const column = this.kept[keep === "vote" ? "last" : keep];
    return [column[from], column[from + 1], column[from + 2]];
  }

  allWeightsAt(t, keep = "last") {
    return Array.from({ length: this.nVectors }, (_, vector) => this.weightsAt(t, vector, keep));
  }

  scoresBefore(round) {
    return this.scores.slice(round * this.nVectors, (round + 1) * this.nVectors);
  }

  nextMistake(t) {
    for (let k = t; k < this.rounds; k += 1) if (this.mistakes[k]) return k + 1;
    return this.rounds;
  }

  // Which class, of those present, scores put a point in: the library's rules. -1 where only its
  // rule for ties would decide: a point with such scores is on no side.
  sideOf(scores) {
    const first = this.how.predict(scores);
    return this.how.predict(scores, true) === first ? first : -1;
  }

  isWrong(scores, row) { return this.sideOf(scores) !== this.codes[row]; }
}

export function scoresOf(weights, x, y) {
  return weights.map(([b, w1, w2]) => b + w1 * x + w2 * y);
}
