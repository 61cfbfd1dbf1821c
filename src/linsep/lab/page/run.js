// The columns of a run that Python computed: position 0 is before the first round.

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

  nextMistake(t) {
    for (let k = t; k < this.rounds; k += 1) if (this.mistakes[k]) return k + 1;
    return this.rounds;
  }

  // Which class, of those present, scores put a point in: the library's rules, ties included.
  classOf(scores, scheme) {
    if (this.nVectors === 1) return scores[0] > 0 ? 1 : 0;
    const highest = scores.indexOf(Math.max(...scores));
    if (scheme === "native") return highest;
    if (scheme === "ovr") {
      const positive = scores.filter((score) => score > 0);
      return positive.length === 1 ? scores.indexOf(positive[0]) : highest;
    }
    const [won, sum] = [new Array(this.present.length).fill(0),
      new Array(this.present.length).fill(0)];
    this.pairs.forEach(([a, b], k) => {
      won[scores[k] > 0 ? b : a] += 1;
      sum[b] += scores[k];
      sum[a] -= scores[k];
    });
    let best = 0;
    for (let k = 1; k < won.length; k += 1) {
      if (won[k] > won[best] || (won[k] === won[best] && sum[k] > sum[best])) best = k;
    }
    return best;
  }

  // Whether a point with these scores is a mistake: of two classes a score of zero is one.
  isMistake(scores, row, scheme) {
    if (this.nVectors === 1) return (this.codes[row] === 1 ? 1 : -1) * scores[0] <= 0;
    return this.classOf(scores, scheme) !== this.codes[row];
  }
}

export function scoresOf(weights, x, y) {
  return weights.map(([b, w1, w2]) => b + w1 * x + w2 * y);
}
