// The modes without a run: least squares, logistic curves, naive Bayes, soft margins and descents, laid
// out as the page shows them: numbers, sentences, a table, and what is drawn.

import { counted, digits } from "./numbers.js";
import { contours, descend, hingeSolution, likelihoodGradient, logLikelihood, newton, solve } from "./optimum.js";
import { probabilities } from "./rules.js";
import { classNames, codesOf, presentCodes } from "./scene.js";
import { separation } from "./separation.js";

//: most steps of a descent and of Newton's method, and of a runaway slope that are shown
const [MOST_DESCENT_STEPS, MOST_NEWTON_STEPS, RUNAWAY_STEPS] = [2000, 60, 6];
//: variance of a feature that varies between classes only, as a share of the largest
const NARROW = 1e-9;
const total = (values) => values.reduce((sum, v) => sum + v, 0);
const mean = (values) => total(values) / values.length;

export function fitOf(scene) {
  const fits = { line: lineOf, curve: curveOf, bayes: bayesOf, soft: softOf, descent: descentOf };
  return fits[scene.settings.room](scene);
}

function columnsOf({ points }) {
  const x = points.map((point) => point[0]);
  if (new Set(x).size < 2) throw new Error("Place points at two or more x-values.");
  return [x, points.map((point) => point[1])];
}

// A line of least squares: its intercept and slope, from sums about the means.
function leastSquares(x, y) {
  const [cx, cy] = [mean(x), mean(y)];
  const [sxx, sxy, syy] = [[x, cx, x, cx], [x, cx, y, cy], [y, cy, y, cy]].map(([u, cu, v, cv]) => (
    total(u.map((_, i) => (u[i] - cu) * (v[i] - cv)))));
  const slope = sxy / sxx;
  return { slope, intercept: cy - slope * cx, cx, sxx, sxy, syy };
}

function lineOf(scene) {
  const [x, y] = columnsOf(scene);
  const { slope, intercept, cx, sxx, sxy, syy } = leastSquares(x, y);
  const fitted = x.map((v) => intercept + slope * v);
  const residuals = y.map((v, i) => v - fitted[i]);
  const [n, rss, names] = [x.length, total(residuals.map((r) => r * r)), scene.features];
  const error = Math.sqrt(rss / (n - 2));
  const numbers = [["r", sxy / Math.sqrt(sxx * syy)], ["R²", 1 - rss / syy], ["residual sum of squares", rss],
    ["residual standard error", error], ["covariance", sxy / (n - 1)],
    ["standard error of the intercept", error * Math.sqrt(1 / n + (cx * cx) / sxx)], ["standard error of the slope", error / Math.sqrt(sxx)]]
    .filter(([, value]) => Number.isFinite(value));
  const explained = syy ? [`It explains ${(100 * (1 - rss / syy)).toFixed(1)}% of the variance of ${n} points.`] : [];
  return { kind: "line", line: [intercept, slope],
    title: `${names[1]} = ${digits(intercept)} ${slope >= 0 ? "+" : "−"} ${digits(Math.abs(slope))} ${names[0]}`,
    sentences: ["The line minimizes the sum of the squared residuals, the red lines.", ...explained],
    numbers: numbers.map(([name, value]) => [name, digits(value)]),
    columns: ["point", ...names, "fitted", "residual"], rows: x.map((v, i) => [i + 1, v, y[i], fitted[i], residuals[i]]),
    ...(n > 3 ? { residuals: fitted.map((v, i) => [v, residuals[i]]) } : {}) };
}

// Rows with mean 0 and standard deviation 1: Newton's method does not depend on units, but its rounding
// does. Points of the first two classes are needed.
function standardized(scene) {
  const [x] = columnsOf(scene);
  const y = codesOf(scene);
  if (String(presentCodes(scene)) !== "0,1") throw new Error("Place points of the first two classes: the curve is their probability.");
  const center = mean(x);
  const width = Math.sqrt(mean(x.map((v) => (v - center) ** 2))) || 1;
  return { x, y, center, width, z: x.map((v) => (v - center) / width) };
}

function curve({ z, y, center, width }, name, firth) {
  let before = [0, 0];
  for (let steps = 4; steps <= MOST_NEWTON_STEPS; steps += 4) {
    const [b, w] = newton(z, y, steps, firth);
    if (!Number.isFinite(b + w)) break;
    if (Math.max(Math.abs(w - before[1]), Math.abs(b - before[0])) < 1e-10 * (1 + Math.abs(w) + Math.abs(b))) {
      return { name, weights: [b - (w * center) / width, w / width], likelihood: logLikelihood(z, y, [b, w]) };
    }
    before = [b, w];
  }
  throw new Error("Newton's method does not converge for these points: move them apart, or add points.");
}

function curveOf(scene) {
  const found = standardized(scene);
  const { x, y, z, width } = found;
  const { kind } = separation(x.map((v) => [v]), y.map((code) => 2 * code - 1), true);
  const names = classNames(scene);
  const curves = [...(kind === "overlapping" ? [curve(found, "likelihood", false)] : []), curve(found, "Firth", true)];
  const slopes = Array.from({ length: RUNAWAY_STEPS }, (_, k) => newton(z, y, k + 1, false)[1] / width).filter(Number.isFinite);
  const said = kind === "overlapping" ? ["The classes overlap on this axis, so the likelihood has a maximum."]
    : [`The classes are ${kind}: the likelihood has no maximum, and the slope diverges. After 1, 2, ... Newton steps it is ${
      slopes.map(digits).join(", ")}, ...`, "Firth's penalty keeps it finite."];
  return { kind: "curve", curves, title: `P(${names[1]}) = 1 / (1 + exp(−(b + w ${scene.features[0]})))`,
    sentences: [`The curve is the probability of class ${names[1]}.`, ...said],
    numbers: curves.flatMap(({ name, weights, likelihood }) => [["b", weights[0]], ["w", weights[1]], ["log-likelihood", likelihood]]
      .map(([what, value]) => [`${name}: ${what}`, digits(value)])),
    columns: ["point", scene.features[0], "class", ...curves.map(({ name }) => name)],
    rows: x.map((v, i) => [i + 1, v, names[y[i]], ...curves.map(({ weights: [b, w] }) => 1 / (1 + Math.exp(-(b + w * v))))]) };
}

// The Gaussians of all classes, which share their standard deviations, and the probabilities of the points.
function bayesOf(scene) {
  const present = presentCodes(scene);
  if (present.length < 2) throw new Error("Place points of at least two classes: each class becomes a Gaussian.");
  const { points, features: axes } = scene;
  const own = present.map((code) => points.filter((point) => point[2] === code));
  const [shares, means] = [own.map((part) => part.length / points.length), own.map((part) => [0, 1].map((j) => mean(part.map((p) => p[j]))))];
  const pooled = [0, 1].map((j) => total(own.map((part, k) => total(part.map((p) => (p[j] - means[k][j]) ** 2)))) / points.length);
  const all = [0, 1].map((j) => mean(points.map((p) => (p[j] - mean(points.map((q) => q[j]))) ** 2)));
  const narrow = [0, 1].map((j) => pooled[j] === 0 && all[j] > 0);
  const variances = pooled.map((v, j) => (narrow[j] ? NARROW * Math.max(...all) : v));
  const over = (value, j) => (variances[j] ? value / variances[j] : 0);
  const weights = means.map((m, k) => [Math.log(shares[k] / shares[0]) + total([0, 1].map((j) => over((means[0][j] ** 2 - m[j] ** 2) / 2, j))),
    ...[0, 1].map((j) => over(m[j] - means[0][j], j))]);
  const probable = points.map(([x, y]) => probabilities(weights, x, y));
  const wrong = points.flatMap(([, , code], i) => (present[probable[i].indexOf(Math.max(...probable[i]))] === code ? [] : [i]));
  const names = present.map((code) => classNames(scene)[code]);
  const odds = () => {
    const terms = weights[1].slice(1).map((w, j) => `${w < 0 ? "−" : "+"} ${digits(Math.abs(w))} ${axes[j]}`);
    return `ln P(${names[1]})/P(${names[0]}) = ${digits(weights[1][0])} ${terms.join(" ")}`.replaceAll("-", "−");
  };
  const deviations = variances.map(Math.sqrt);
  return { kind: "bayes", present, weights, means, deviations, wrong,
    title: names.length === 2 ? odds() : "Each point is assigned to its most probable class",
    sentences: ["Each class is a Gaussian with its own mean, the cross; the ellipses are one and two standard deviations wide. The model is "
      + "naive: within a class the features are independent, so no ellipse is tilted.",
    "The classes share the standard deviations, so the boundary of two classes is a line.",
    `${wrong.length} of ${points.length} points ${wrong.length === 1 ? "is" : "are"} more probable in another class.`,
    ...(narrow.some(Boolean) ? ["A feature has zero within-class variance; 1e-9 of the largest variance is used."] : [])],
    numbers: [...names.map((name, k) => [`${name}: share`, digits(shares[k])]),
      ...names.flatMap((name, k) => axes.map((axis, j) => [`${name}: mean of ${axis}`, digits(means[k][j])])),
      ...axes.map((axis, j) => [`deviation of ${axis}`, digits(deviations[j])])],
    columns: ["point", ...axes, "class", ...names.map((name) => `P(${name})`)],
    rows: points.map(([x, y, code], i) => [i + 1, x, y, classNames(scene)[code], ...probable[i]]) };
}

function softOf(scene) {
  const present = presentCodes(scene);
  if (present.length !== 2) throw new Error("Place points of two classes.");
  const { points, features, settings: { cost: C } } = scene;
  const signs = points.map(([, , code]) => (code === present[1] ? 1 : -1));
  const { weights, dual } = hingeSolution(points.map(([x, y]) => [1, x, y]), signs, [0, 1, 1], C);
  const [b, ...w] = weights;
  const scores = points.map(([x, y]) => b + w[0] * x + w[1] * y);
  const sides = scores.map((s, i) => s * signs[i]);
  const size = Math.max(...dual);
  const support = [...dual.keys()].filter((i) => dual[i] > 1e-6 * size);
  const inside = support.filter((i) => dual[i] > C * (1 - 1e-6));
  const on = support.filter((i) => !inside.includes(i));
  const wrong = [...scores.keys()].filter((i) => (scores[i] > 0 ? 1 : -1) !== signs[i]);
  const losses = total(sides.map((s) => Math.max(0, 1 - s)));
  const loss = losses > 1e-7 ? losses : 0;
  const square = w[0] ** 2 + w[1] ** 2;
  const objective = square / 2 + C * losses;
  const pulled = [0, 1].map((j) => total(dual.map((a, i) => a * signs[i] * points[i][j])));
  const bound = total(dual) - (pulled[0] ** 2 + pulled[1] ** 2) / 2;
  const gap = Math.max(0, 1 - bound / objective);
  const squares = inside.length ? `, and ${inside.length} inside or beyond them (square)` : "";
  return { kind: "soft", present, weights, on, inside, wrong, title: square ? `Margin ${digits(1 / Math.sqrt(square))}` : "No line: w is 0",
    sentences: [`${counted(on.length, "point")} on the dashed lines (ring)${squares}: only these support vectors determine the line. Moving `
      + "another point a little changes nothing.",
    `The dual variables in the table prove that no line has an objective smaller by more than ${
      gap > 1e-9 ? gap.toExponential(0) : "a billionth"} of its value.`,
    loss === 0 ? "No point has a loss: this is the hard margin, the widest possible, and a larger C changes nothing."
      : `${counted(wrong.length, "point")} on the wrong side. A larger C allows less loss and gives a narrower margin; a smaller C does the `
        + "opposite."],
    numbers: [["C", C], ["|w|² / 2", square / 2], ["sum of losses", loss], ["objective", objective], ["lower bound", bound]]
      .map(([name, value]) => [name, digits(value)]),
    columns: ["point", ...features, "class", "score", "dual variable", "support"],
    rows: points.map(([x, y, code], i) => [i + 1, x, y, classNames(scene)[code], scores[i], dual[i] > 1e-6 * size ? dual[i] : 0,
      inside.includes(i) ? "inside" : on.includes(i) ? "on the margin" : ""]) };
}

const formula = (title, J, grad, box, curvature = 0) => ({ title, J, grad, box, curvature, axes: ["x", "y"], equal: true, up: false });
const FORMULAS = {
  bowl: formula("x² + y²", ([x, y]) => x ** 2 + y ** 2, ([x, y]) => [2 * x, 2 * y], [-3, -2.2, 3, 2.2], 2),
  valley: formula("x² + 10 y²", ([x, y]) => x ** 2 + 10 * y ** 2, ([x, y]) => [2 * x, 20 * y], [-3, -2.2, 3, 2.2], 20),
  "two-minima": formula("(x² − 1)² + y² + x/4", ([x, y]) => (x ** 2 - 1) ** 2 + y ** 2 + x / 4,
    ([x, y]) => [4 * x * (x ** 2 - 1) + 0.25, 2 * y], [-2.4, -1.8, 2.4, 1.8]),
  bend: formula("(1 − x)² + 10 (y − x²)²", ([x, y]) => (1 - x) ** 2 + 10 * (y - x ** 2) ** 2,
    ([x, y]) => [-2 * (1 - x) - 40 * x * (y - x ** 2), 20 * (y - x ** 2)], [-2.4, -1, 2.4, 3]),
};

// A formula, or an error of the points over the intercept and the slope of a line or a curve.
function surfaceOf(scene) {
  const { surface, from } = scene.settings;
  if (FORMULAS[surface]) return FORMULAS[surface];
  const [x, y] = columnsOf(scene);
  const squared = surface === "squared-error";
  let [J, grad, lowest, H, reach] = [];
  const information = (p) => [0, 1].map((j) => [0, 1].map((k) => total(x.map((v, i) => p[i] * [1, v][j] * [1, v][k]))));
  const spreads = (M) => [0, 1].map((j) => Math.sqrt(solve(M, [0, 1].map((k) => Number(j === k)))[j]));
  if (squared) {
    const { slope, intercept } = leastSquares(x, y);
    J = ([b, w]) => total(x.map((v, i) => (y[i] - b - w * v) ** 2));
    grad = ([b, w]) => [0, 1].map((j) => -2 * total(x.map((v, i) => (y[i] - b - w * v) * [1, v][j])));
    [lowest, H] = [[intercept, slope], information(x.map(() => 2))];
    reach = spreads(H).map((s) => s * Math.sqrt(2 * Math.max(J(from) - J(lowest), 1e-12)));
  } else {
    const found = standardized(scene);
    J = (w) => logLikelihood(x, found.y, w);
    grad = (w) => likelihoodGradient(x, found.y, w);
    lowest = curve(found, "Firth", true).weights;
    const p = x.map((v) => 1 / (1 + Math.exp(-(lowest[0] + lowest[1] * v))));
    H = information(p.map((q) => q * (1 - q)));
    reach = spreads(H).map((s, j) => Math.abs(from[j] - lowest[j]) + 3 * s);
  }
  if (!reach.every(Number.isFinite)) throw new Error("These points are too close together to draw the surface.");
  const [[a, b], [, d]] = H;
  const ends = [-1, 1].map((sign) => lowest.map((v, j) => v + sign * 1.2 * reach[j]));
  return { title: squared ? "squared error of a line" : "log-likelihood of a curve", J, grad, box: ends.flat(), axes: ["intercept", "slope"],
    equal: false, up: !squared, curvature: squared ? (a + d) / 2 + Math.hypot((a - d) / 2, b) : 0 };
}

function descentOf(scene) {
  const { title, J, grad, box, axes, equal, up, curvature } = surfaceOf(scene);
  const { eta, schedule, rounds, from } = scene.settings;
  const { path, values, rates, reason, why } = descend(J, grad, from, { eta, schedule, up, most: Math.min(MOST_DESCENT_STEPS, rounds) });
  const n = rates.length;
  const steps = rates.map((_, k) => [0, 1].map((j) => path[k + 1][j] - path[k][j]));
  const turned = steps.filter((step, k) => k && step[0] * steps[k - 1][0] + step[1] * steps[k - 1][1] < 0).length;
  const zigzags = 2 * turned > n;
  const below = curvature ? digits(2 / curvature) : "";
  const word = { converged: `${zigzags ? "zig-zags" : "converges"} in ${n.toLocaleString("en")} steps`,
    max_iter: zigzags ? "zig-zags" : "is slow", cycle: "cycles", diverged: "diverges" }[reason];
  const said = reason === "diverged" ? `It diverges: the steps grow, and after ${n.toLocaleString("en")} of them J is ${digits(values.at(-1))}. The `
    + `learning rate ${digits(rates.at(-1) ?? eta)} is too large${below ? `: rates below 2/λ = ${below} converge` : ""}.`
    : reason === "max_iter" ? `${why}: ${zigzags ? "most steps overshot, so lower the learning rate" : "allow more, or raise the learning rate"}.` : `${why}.`;
  return { kind: "descent", box, equal, axes, contours: contours(J, box, equal), up, rates,
    goal: `the ${up ? "highest" : "lowest"} point of ${title}`, title: `${title}: ${word}`,
    sentences: [said, ...(reason === "converged" && zigzags ? [`${turned} of ${n} steps reversed direction: the rate is almost too large across `
      + "the valley, and too small along it."] : [])],
    numbers: [["steps", n.toLocaleString("en")], ["steps that reversed direction", turned.toLocaleString("en")],
      ...axes.map((axis, j) => [axis, digits(path.at(-1)[j])]), ["J", digits(values.at(-1))],
      ...(curvature ? [["largest curvature λ", digits(curvature)], ["rates that converge: below 2/λ", below]] : [])],
    columns: ["step", ...axes, "J", "length of the next step"],
    rows: path.map((place, k) => [k, ...place, values[k], k < n ? Math.hypot(...steps[k]) : ""]) };
}
