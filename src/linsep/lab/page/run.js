// The columns of a run that the engine computed: position 0 is before the first round.

export class Run {
  constructor(columns, points) {
    Object.assign(this, columns);
    this.points = points;
    this.kernel = Boolean(columns.duals);
    this.nVectors = Math.max(1, columns.vectors.length);
    this.kept = { last: Float64Array.from(columns.weights),
      average: Float64Array.from(columns.average), best: Float64Array.from(columns.best) };
    this.madeMistakes = this.sums(columns.mistakes);
    this.madeErrors = this.sums(columns.errors);
    this.madeUpdates = this.sums(columns.updates);
    this.codes = points.map((point) => columns.present.indexOf(point[2]));
    this.pairs = [];
    for (let a = 0; a < columns.present.length; a += 1) {
      for (let b = a + 1; b < columns.present.length; b += 1) this.pairs.push([a, b]);
    }
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

  // The scores of a round's point, before it was learned.
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
    if (this.nVectors === 1) return scores[0] > 0 ? 1 : scores[0] < 0 ? 0 : -1;
    if (this.scheme === "ovo") {
      const side = this.matches(scores, 0);
      return !scores.includes(0) || this.matches(scores, 1) === side ? side : -1;
    }
    let [best, shared, positive, only] = [0, false, 0, 0];
    for (let v = 0; v < scores.length; v += 1) {
      if (v && scores[v] === scores[best]) shared = true;
      if (scores[v] > scores[best]) { best = v; shared = false; }
      if (scores[v] > 0) { positive += 1; only = v; }
    }
    if (this.scheme === "ovr" && positive === 1) return only;
    return shared ? -1 : best;
  }

  // The class with the most wins, of equals the one with the highest sum of scores, -1 if even
  // these are equal; a score of 0 is a win of the first class of a pair (0) or of the second (1).
  matches(scores, zero) {
    const [won, sum] = [new Array(this.present.length).fill(0),
      new Array(this.present.length).fill(0)];
    this.pairs.forEach(([a, b], k) => {
      won[scores[k] > 0 || (scores[k] === 0 && zero) ? b : a] += 1;
      sum[b] += scores[k];
      sum[a] -= scores[k];
    });
    let [best, shared] = [0, false];
    for (let k = 1; k < won.length; k += 1) {
      const more = won[k] - won[best] || sum[k] - sum[best];
      if (more > 0) best = k;
      if (more >= 0) shared = more === 0;
    }
    return shared ? -1 : best;
  }

  // Whether scores put a point elsewhere than in its class.
  isWrong(scores, row) { return this.sideOf(scores) !== this.codes[row]; }
}

export function scoresOf(weights, x, y) {
  return weights.map(([b, w1, w2]) => b + w1 * x + w2 * y);
}
