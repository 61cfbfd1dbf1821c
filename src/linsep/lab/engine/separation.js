// Whether weights separate rows, in whole numbers and fractions: Wolfe's nearest point of a hull (1976).
//
// The nearest point to 0 of the hull of the sign-flipped rows, or of the differences of two classes, is
// not 0 if and only if weights separate the rows, and then it is the separator of widest margin; if it
// is 0, its multipliers prove that there is none. Multipliers are Maps from rows to fractions.

import { dot, exact, Fraction, least, most, ONE, whole, ZERO } from "./exact.js";

//: milliseconds that exact arithmetic may take
export const TIME_LIMIT = 3000;
export class TooLong extends Error {}

const nonzero = (v) => v.some(Boolean);
const positive = ({ top }) => top > 0n;
const transposed = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
const sorted = (multipliers) => new Map([...multipliers].sort(([a], [b]) => a - b));

// The row of a hull where <row, v> is least.
const lowestOf = (A, rows = [...A.keys()]) => (v) => {
  let [best, value] = [rows[0], dot(A[rows[0]], v)];
  for (const i of rows) {
    const other = dot(A[i], v);
    if (other < value) [best, value] = [i, other];
  }
  return [best, A[best]];
};

// The verdict on rows of two classes of the signs -1 and +1; the intercept is the last of the weights.
export function separation(X, signs, intercept, until = Date.now() + TIME_LIMIT) {
  const [rows, unit] = whole(X.map((x) => x.map((v) => (typeof v === "number" ? exact(v) : v))));
  if (!intercept) {
    const found = decided(rows.map((x, i) => x.map((v) => BigInt(signs[i]) * v)), until);
    return { ...found, square: found.square.over(new Fraction(unit * unit)) };
  }
  const [up, down] = [1, -1].map((side) => [...signs.keys()].filter((i) => signs[i] === side));
  const [first, second] = [lowestOf(rows, up), lowestOf(rows.map((x) => x.map((v) => -v)), down)];
  const lowest = (v) => { const [[i, a], [j, b]] = [first(v), second(v)]; return [`${i},${j}`, a.map((p, k) => p + b[k])]; };
  const { point, unit: scale, weights } = nearest(lowest, rows[0], until);
  const each = new Map();
  weights.forEach((m, pair) => pair.split(",").map(Number)
    .forEach((row) => each.set(row, (each.get(row) ?? ZERO).plus(m))));
  if (nonzero(point)) {
    const ends = [least(up.map((i) => new Fraction(dot(rows[i], point), scale))),
      most(down.map((j) => new Fraction(dot(rows[j], point), scale)))];
    return { kind: "separable", multipliers: sorted(each), boundary: [],
      weights: [...point.map((v) => new Fraction(v, scale)),
        new Fraction(-1n, 2n * unit).times(ends[0].plus(ends[1]))],
      square: new Fraction(dot(point, point), (2n * unit * scale) ** 2n) };
  }
  const reflected = rows.map((x, i) => [...x, unit].map((v) => BigInt(signs[i]) * v));
  return peeled(reflected, minimal(reflected, each), until);
}

// The verdict on sign-flipped rows of whole numbers: all positive, or none negative, or neither.
export function decided(A, until = Date.now() + TIME_LIMIT) {
  const { point, unit, weights } = nearest(lowestOf(A), A[0], until);
  if (!nonzero(point)) return peeled(A, sorted(weights), until);
  return { kind: "separable", weights: point.map((v) => new Fraction(v, unit)), multipliers: sorted(weights),
    square: new Fraction(dot(point, point), unit * unit), boundary: [] };
}

// Multipliers, which add up to 1, with which rows have the mean x; null if x is outside their hull.
export function among(x, X, until) {
  const [[here, ...rows]] = whole([x, ...X].map((row) => row.map(exact)));
  const moved = rows.map((row) => row.map((v, j) => v - here[j]));
  const { point, weights } = nearest(lowestOf(moved), moved[0], until);
  return nonzero(point) ? null : sorted(weights);
}

// The sign-flipped rows of the joint rule of several classes, one for each rival; they concern the
// weights of all classes except the last, whose weights may be 0.
export function jointRows(X, codes, intercept) {
  const [rows, unit] = whole(X.map((x) => x.map((v) => (typeof v === "number" ? exact(v) : v))));
  const classes = [...Array(Math.max(...codes) + 1).keys()];
  return rows.flatMap((x, row) => {
    const z = intercept ? [...x, unit] : x;
    return classes.filter((rival) => rival !== codes[row]).map((rival) => (
      classes.slice(0, -1).flatMap((c) => z.map((v) => BigInt((c === codes[row]) - (c === rival)) * v))));
  });
}

// The point of a hull nearest to 0, as whole numbers over a unit, and the multipliers of its vertices.
// `lowest` has the vertex where a product is least.
function nearest(lowest, start, until) {
  const [key, first] = lowest(start);
  let [vertices, weights] = [new Map([[key, first]]), new Map([[key, ONE]])];
  for (;;) {
    const [point, unit] = combined([...vertices.values()], [...weights.values()]);
    const [next, found] = lowest(point);
    if (dot(found, point) * unit >= dot(point, point)) return { point, unit, weights };
    vertices.set(next, found);
    weights.set(next, ZERO);
    for (;;) {
      if (Date.now() > until) throw new TooLong("Exact arithmetic takes longer than 3 seconds here.");
      const goal = affineNearest(vertices);
      if ([...goal.values()].every(positive)) { weights = goal; break; }
      // as far as the hull reaches, where a vertex is not needed any more
      const share = least([...weights].filter(([k]) => !positive(goal.get(k)))
        .map(([k, w]) => w.over(w.minus(goal.get(k)))));
      weights = new Map([...weights].map(([k, w]) => [k, w.plus(share.times(goal.get(k).minus(w)))])
        .filter(([, w]) => w.top));
      vertices = new Map([...weights.keys()].map((k) => [k, vertices.get(k)]));
    }
  }
}

// The sum of rows of whole numbers times fractions, as whole numbers over a unit.
function combined(rows, fractions) {
  const [[times], unit] = whole([fractions]);
  return [transposed(rows).map((column) => dot(column, times)), unit];
}

// The multipliers, which add up to 1, of the nearest point to 0 of the plane through vertices.
function affineNearest(vertices) {
  const [first, ...others] = vertices.values();
  const edges = others.map((place) => place.map((v, j) => v - first[j]));
  const found = solved(edges.map((one) => edges.map((other) => dot(one, other))), edges.map((one) => -dot(one, first)));
  const rest = found.reduce((sum, m) => sum.minus(m), ONE);
  return new Map([...vertices.keys()].map((key, k) => [key, k ? found[k - 1] : rest]));
}

// Multipliers of rows that add up to 0, of as few rows as possible.
function minimal(A, multipliers) {
  let found = sorted(multipliers);
  for (;;) {
    const keys = [...found.keys()];
    let [k, times] = [0, null];
    while (times === null) {
      k += 1;
      times = solved(transposed(keys.slice(0, k).map((key) => A[key])), A[keys[k]]);
    }
    if (k === keys.length - 1) return found;
    let other = [...times, new Fraction(-1n)];
    if (!other.some(positive)) other = other.map((x) => ZERO.minus(x));
    const share = least(other.map((x, j) => (positive(x) ? found.get(keys[j]).over(x) : null)).filter(Boolean));
    found = new Map(keys.map((key, j) => [key, found.get(key).minus(share.times(other[j] ?? ZERO))])
      .filter(([, m]) => m.top));
  }
}

// The verdict on rows that add up to 0 with the multipliers of a witness: they are 0 for any weights
// without a negative row, as all rows of their space are. The others are decided in the directions
// orthogonal to it.
function peeled(A, witness, until) {
  let spanning = new Map(witness);
  for (;;) {
    const space = independent([...spanning.keys()].map((i) => A[i]));
    const left = new Map(A.map((a, i) => [i, lowered(a, space)]).filter(([, rest]) => nonzero(rest)));
    const boundary = [...A.keys()].filter((i) => !left.has(i));
    const common = { multipliers: witness, boundary, spanning, square: ZERO };
    if (!left.size) return { kind: "overlapping", weights: [], ...common };
    const rows = [...left.keys()];
    const { point, unit, weights } = nearest(lowestOf(Object.fromEntries(left), rows), left.get(rows[0]), until);
    if (nonzero(point)) return { kind: "quasi-separable", weights: point.map((v) => new Fraction(v, unit)), ...common };
    // the rows that add up to 0 here, with as much of the known ones as takes the rest
    const [more, shares] = [[...weights.keys()], [...weights.values()].map((m, k) => m.times(left.get([...weights.keys()][k]).factor))];
    const [total, over] = combined(more.map((i) => A[i]), shares);
    const known = [...spanning];
    const times = solved(transposed(known.map(([i]) => A[i])), total).map((t) => t.over(new Fraction(over)));
    const longer = most([ONE, ...times.map((t, k) => t.over(known[k][1]).plus(ONE))]);
    spanning = new Map(known.map(([i, m], k) => [i, longer.times(m).minus(times[k])]));
    more.forEach((i, k) => spanning.set(i, shares[k]));
    spanning = sorted(spanning);
  }
}

// Orthogonal rows that span the same space.
function independent(rows) {
  const found = [];
  for (const row of rows) {
    const rest = lowered(row, found);
    if (nonzero(rest)) found.push(rest);
  }
  return found;
}

// The part of a row orthogonal to orthogonal rows, as whole numbers; `factor` is what they are times it.
function lowered(a, space) {
  let [rest, factor] = [a, 1n];
  for (const row of space) {
    const [times, size] = [dot(rest, row), dot(row, row)];
    if (times) {
      rest = rest.map((v, j) => v * size - times * row[j]);
      factor *= size;
    }
  }
  return Object.assign([...rest], { factor: new Fraction(factor) });
}

// Fractions x with M x = right, 0 where they are free; null without a solution (Bareiss 1968).
export function solved(M, right) {
  const lines = M.map((line, i) => [...line, right[i]]);
  const pivots = [];
  let before = 1n;
  const width = M[0]?.length ?? 0;
  for (let column = 0; column < width; column += 1) {
    const start = pivots.length;
    const place = lines.findIndex((line, i) => i >= start && line[column]);
    if (place < 0) continue; // eslint-disable-line no-continue
    [lines[start], lines[place]] = [lines[place], lines[start]];
    const head = lines[start];
    lines.forEach((line, i) => {
      if (i !== start) lines[i] = line.map((v, j) => (v * head[column] - line[column] * head[j]) / before);
    });
    before = head[column];
    pivots.push(column);
  }
  if (lines.slice(pivots.length).some((line) => line[width])) return null;
  const found = new Array(width).fill(ZERO);
  pivots.forEach((column, i) => { found[column] = new Fraction(lines[i][width], lines[i][column]); });
  return found;
}
