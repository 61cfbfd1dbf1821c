// What has an optimum in a few weights: soft margins, logistic curves, and gradient descent.

import { dot } from "./exact.js";
import { rateOf } from "./rules.js";

// A x = b by elimination with row exchanges.
export function solve(A, b) {
  const rows = A.map((line, i) => [...line, b[i]]);
  const n = rows.length;
  for (let k = 0; k < n; k += 1) {
    let best = k;
    for (let i = k; i < n; i += 1) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    [rows[k], rows[best]] = [rows[best], rows[k]];
    for (let i = 0; i < n; i += 1) {
      if (i !== k) {
        const ratio = rows[i][k] / rows[k][k];
        rows[i] = rows[i].map((p, j) => p - ratio * rows[k][j]);
      }
    }
  }
  return rows.map((line, k) => line[n] / line[k]);
}

// The weights that minimize sum of penalty_j w_j² / 2 + C sum of max(0, 1 - y <w, z>), and their dual
// variables, by a primal-dual interior point.
//
// With a in [0, C], u = max(0, -(1 - y <w, z>)) and v = max(0, 1 - y <w, z>): y <w, z> - 1 + v - u = 0,
// penalty_j w_j = sum of a y z_j, a u = 0 and (C - a) v = 0.
export function hingeSolution(Z, signs, penalty, C) {
  const [rows, n, d] = [Z.map((z, i) => z.map((v) => v * signs[i])), Z.length, penalty.length];
  let [w, a, u, v] = [new Array(d).fill(0), ...[C / 2, 1, 1].map((x) => new Array(n).fill(x))];
  let best = { gap: Infinity, weights: w, dual: a };
  for (let step = 0; step < 300; step += 1) {
    const left = rows.map((z, i) => -(dot(w, z) - 1 + v[i] - u[i]));
    const slope = penalty.map((p, j) => a.reduce((sum, ai, i) => sum + ai * rows[i][j], 0) - p * w[j]);
    const gap = a.reduce((sum, ai, i) => sum + ai * u[i] + (C - ai) * v[i], 0);
    const objective = dot(w.map((x, j) => penalty[j] * x), w) / 2 + C * v.reduce((sum, x) => sum + x, 0);
    const far = Math.max(...left.map(Math.abs), ...slope.map((s) => Math.abs(s) / (C * n)));
    if (far < 1e-8 && gap < best.gap) best = { gap, weights: w, dual: a };
    else if (best.gap <= 1e-8 * objective) break; // points on the margin that decide nothing
    if (gap <= 1e-12 * objective && far < 1e-12) break;
    const aim = (0.1 * gap) / (2 * n);
    const D = a.map((ai, i) => v[i] / (C - ai) + u[i] / ai);
    const right = left.map((r, i) => r + (aim - a[i] * u[i]) / a[i] - (aim - (C - a[i]) * v[i]) / (C - a[i]));
    const dw = solve(penalty.map((p, j) => penalty.map((_, k) => (j === k ? p : 0) + rows.reduce((sum, z, i) => sum + (z[j] * z[k]) / D[i], 0))),
      slope.map((s, j) => s + rows.reduce((sum, z, i) => sum + (z[j] * right[i]) / D[i], 0)));
    const da = rows.map((z, i) => (right[i] - dot(z, dw)) / D[i]);
    const du = da.map((x, i) => (aim - a[i] * u[i] - u[i] * x) / a[i]);
    const dv = da.map((x, i) => (aim - (C - a[i]) * v[i] + v[i] * x) / (C - a[i]));
    if (![...dw, ...da].every(Number.isFinite)) break;
    const share = Math.min(1, ...a.flatMap((x, i) => [[x, da[i]], [C - x, -da[i]], [u[i], du[i]], [v[i], dv[i]]]
      .map(([value, way]) => (way < 0 ? (-0.995 * value) / way : 1))));
    const moved = (values, ways) => values.map((x, i) => x + share * ways[i]);
    [w, a, u, v] = [moved(w, dw), moved(a, da), moved(u, du), moved(v, dv)];
  }
  return best;
}

// The weights, each with a penalty, of a small hinge loss.
export const hingeOptimum = (Z, signs, C) => hingeSolution(Z, signs, Z[0].map(() => 1), C).weights;

const probability = (score) => (score >= 0 ? 1 / (1 + Math.exp(-score)) : Math.exp(score) / (1 + Math.exp(score)));

// The intercept and the weight of a logistic curve after Newton's steps from 0; `firth` maximizes the
// penalized likelihood.
export function newton(x, y, steps, firth) {
  let [b, w] = [0, 0];
  for (let step = 0; step < steps; step += 1) {
    const p = x.map((v) => probability(b + w * v));
    const H = [[0, 0], [0, 0]];
    x.forEach((v, i) => [1, v].forEach((s, j) => [1, v].forEach((t, k) => { H[j][k] += p[i] * (1 - p[i]) * s * t; })));
    const score = [0, 0];
    x.forEach((v, i) => {
      const z = [1, v];
      const leverage = firth ? p[i] * (1 - p[i]) * dot(z, solve(H, z)) : 0;
      z.forEach((s, j) => { score[j] += (y[i] - p[i] + leverage * (0.5 - p[i])) * s; });
    });
    const moved = solve(H, score);
    [b, w] = [b + moved[0], w + moved[1]];
  }
  return [b, w];
}

export function logLikelihood(x, y, [b, w]) {
  return x.reduce((sum, v, i) => {
    const score = b + w * v;
    return sum + y[i] * score - Math.max(score, 0) - Math.log1p(Math.exp(-Math.abs(score)));
  }, 0);
}

export const likelihoodGradient = (x, y, [b, w]) => x.reduce(([first, second], v, i) => {
  const left = y[i] - 0.5 * (1 + Math.tanh(0.5 * (b + w * v)));
  return [first + left, second + left * v];
}, [0, 0]);

//: steps in a row that are longer and worse than the ones before, after which a descent diverges
const WORSE = 10;
const LOST = 8 * 2 ** -52;

// x <- x - eta(k) grad J(x) (or +) while a step is longer than 1e-6: its path, values, rates, and why it
// ended.
export function descend(J, grad, start, { eta, schedule, up, most }) {
  const sign = up ? 1 : -1;
  let [x, value, gradient, length, bad] = [start, J(start), grad(start), 0, 0];
  const [path, values, rates] = [[x], [value], []];
  let mark = [0, x, gradient];
  const ended = (reason, why) => ({ path, values, rates, reason, why });
  for (;;) {
    const k = rates.length;
    const rate = rateOf(eta, schedule, k + 1);
    const before = length;
    length = rate * Math.hypot(...gradient);
    if (length <= 1e-6) return ended("converged", "The next step would be no longer than 10⁻⁶");
    if (k === most) return ended("max_iter", `All ${most.toLocaleString("en")} steps allowed were made and the next would still be ${
      Number(length.toPrecision(3))} long`);
    const point = x.map((v, j) => v + sign * rate * gradient[j]);
    const next = J(point);
    const there = Number.isFinite(next) ? grad(point) : [NaN];
    if (!there.every(Number.isFinite)) return ended("diverged", "");
    bad = sign * (next - value) < 0 && length > before ? bad + 1 : 0;
    if (k !== 1 && !(k & (k - 1))) mark = [k, x, gradient]; // Brent's detection of cycles
    [x, value, gradient] = [point, next, there];
    path.push(x);
    values.push(value);
    rates.push(rate);
    if (bad === WORSE) return ended("diverged", "");
    if (schedule === "constant" && x.every((v, j) => v === mark[1][j] && gradient[j] === mark[2][j])) {
      if (length <= LOST * Math.hypot(...x)) return ended("converged", `Steps of ${Number(length.toPrecision(3))} are lost in the rounding of x`);
      return ended("cycle", `Step ${k + 1} came back to ${mark[0] ? `where step ${mark[0]} had ended` : "the start"}, so the last ${
        k + 1 - mark[0]} steps repeat forever: the learning rate is too large`);
    }
  }
}

// The contour lines of a function on a grid, as segments x, y, x, y; the levels divide a box into equal
// areas, and lines reach half of it beyond where units are equal.
export function contours(J, [left, bottom, right, top], equal, levels = 15, sites = 121) {
  const more = equal ? 0.5 : 0;
  const axis = (low, high) => Array.from({ length: sites }, (_, k) => (
    low - more * (high - low) + ((1 + 2 * more) * (high - low) * k) / (sites - 1)));
  const [xs, ys] = [axis(left, right), axis(bottom, top)];
  const z = ys.map((y) => xs.map((x) => J([x, y])));
  const inside = z.flatMap((line, i) => line.filter((_, j) => (
    ys[i] >= bottom && ys[i] <= top && xs[j] >= left && xs[j] <= right))).sort((a, b) => a - b);
  const found = [];
  for (let k = 0; k < levels; k += 1) {
    const level = inside[Math.round((0.01 + (0.98 * k) / (levels - 1)) * (inside.length - 1))];
    const line = [];
    for (let i = 0; i + 1 < sites; i += 1) {
      for (let j = 0; j + 1 < sites; j += 1) {
        const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
        const crossings = corners.flatMap(([p, q], c) => {
          const [r, s] = corners[(c + 1) % 4];
          if ((z[p][q] < level) === (z[r][s] < level)) return [];
          const share = (level - z[p][q]) / (z[r][s] - z[p][q]);
          return [[xs[q] + share * (xs[s] - xs[q]), ys[p] + share * (ys[r] - ys[p])]];
        });
        for (let c = 0; c + 1 < crossings.length; c += 2) line.push([...crossings[c], ...crossings[c + 1]]);
      }
    }
    found.push(line);
  }
  return found;
}
