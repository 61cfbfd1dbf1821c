// Proofs about the points of a scene and its run, as sentences for the page.

import { beside, dot, exact, Fraction, most, root, whole } from "./exact.js";
import { digits, sixDigits } from "./numbers.js";
import { hingeOptimum } from "./optimum.js";
import { denseCodes, learnsIntercept } from "./runs.js";
import { pairsOf } from "./schemes.js";
import { classNames, codesOf, presentCodes, rowsOf } from "./scene.js";
import { among, decided, jointRows, separation, TIME_LIMIT, TooLong } from "./separation.js";
import { LEARNERS } from "./settings.js";

//: kinds of verdicts in plain words, where they differ, and titles of the verdict on several classes
const SAID = { "quasi-separable": "nearly separable (some points can only be on the boundary)" };
const TITLES = { separable: "Scores, one per class, can classify every point correctly.",
  "quasi-separable": "No scores of this kind classify every point correctly, but some fail only by ties.",
  overlapping: "No scores of this kind classify every point correctly.", undecided: "Undecided" };
//: most points of which the plainest witness is looked for, points of several classes, or with more than
//: two numbers, that are decided, and such numbers
const [MOST_SEARCHED, MOST_OF_MANY, MOST_NUMBERS] = [200, 150, 15];
//: more than the rounding of a bound takes away
const UP = 1 + 1e-9;

// What can be proved: the verdict in the plane, or in the space of a kernel, and bounds on mistakes.
export function proofOf(scene, run) {
  return { verdict: scene.settings.learner === "kernel" ? ofKernel(scene) : inPlane(scene), ...boundsOf(scene, run) };
}

function verdict(kind, title, sentences, rows = []) {
  return { kind, title, sentences, rows, meeting: null, widest: null, margin: null };
}

// A verdict, or "undecided" where exact arithmetic takes too long.
function decidedSoon(decide) {
  try { return decide(Date.now() + TIME_LIMIT); } catch (problem) {
    if (problem instanceof TooLong) return verdict("undecided", "Undecided", [problem.message]);
    throw problem;
  }
}

function inPlane(scene) {
  const [rows, codes, intercept] = [rowsOf(scene), denseCodes(scene), learnsIntercept(scene)];
  return decidedSoon((until) => (presentCodes(scene).length > 2 ? ofSeveral(scene, rows, codes, intercept, until)
    : ofTwo(scene, rows, codes, intercept, until)));
}

function ofTwo(scene, rows, codes, intercept, until) {
  const found = separation(rows, codes.map((code) => 2 * code - 1), intercept, until);
  const line = intercept ? "line" : "line through 0";
  if (found.kind === "separable") {
    const [low, high] = root(found.square);
    const support = [...found.multipliers.keys()];
    const width = [...new Set([low, high].map(digits))].join(" to ");
    const shown = verdict("separable", `A ${line} separates the classes.`,
      [`The widest margin in the picture is ${width}: ${listed(support)} ${support.length === 1 ? "rules" : "rule"} out a wider one.`], support);
    return Object.assign(shown, { margin: low, widest: unitLine(found.weights, intercept) });
  }
  const few = intercept && rows.length <= MOST_SEARCHED ? plainest(rows, codes, until) : null;
  const multipliers = few ?? found.multipliers;
  const proving = [...multipliers.keys()];
  const said = [`${capital(listed(proving))} ${proving.length === 1 ? "proves" : "prove"} it.`];
  const meeting = intercept ? meetingPoint(scene, multipliers) : null;
  said.push(meeting ? whyTheyMeet(scene, proving, meeting) : "Reflect the first class through the origin. A separating line "
    + "would give every point a positive score, yet a positive combination of the points is exactly 0.");
  if (found.kind === "overlapping") {
    return { ...verdict("overlapping", `No ${line} separates the classes.`, said, proving), meeting };
  }
  said.push(`Every line without a point on the wrong side goes through ${listed(found.boundary)}.`);
  return { ...verdict("quasi-separable", `No ${line} separates the classes, but one nearly does.`, said, proving), meeting };
}

// b, w1, w2 of unit length of exact weights, the intercept last.
function unitLine(weights, intercept) {
  const size = most(weights.map((w) => (w.top < 0n ? new Fraction(-w.top, w.bottom) : w)));
  const [w1, w2, b = 0] = weights.map((w) => w.over(size).number());
  const length = Math.hypot(w1, w2) || 1;
  return [intercept ? b / length : 0, w1 / length, w2 / length];
}

// Multipliers of a point and of as few points of the other class as possible around it, of the class
// that has fewer such points; null if only crossing segments prove the overlap.
function plainest(rows, codes, until) {
  const lying = [[], []];
  codes.forEach((code, row) => {
    const others = [...codes.keys()].filter((k) => codes[k] !== code);
    const found = among(rows[row], others.map((k) => rows[k]), until);
    if (found) lying[code].push(new Map([[row, new Fraction(1n)], ...[...found].map(([k, m]) => [others[k], m])].sort(([a], [b]) => a - b)));
  });
  const few = lying.filter(({ length }) => length).sort((a, b) => a.length - b.length)[0] ?? [];
  return few.reduce((a, b) => (a && a.size <= b.size ? a : b), null);
}

// The place in the hulls of the witness points of both classes.
function meetingPoint({ points }, multipliers) {
  const mine = [...multipliers].filter(([row]) => points[row][2] === Math.max(...points.map(([, , code]) => code)));
  const total = mine.reduce((sum, [, m]) => sum.plus(m), new Fraction(0n));
  return [0, 1].map((axis) => mine.reduce((sum, [row, m]) => sum.plus(m.times(exact(points[row][axis]))), new Fraction(0n))
    .over(total).number());
}

function whyTheyMeet(scene, rows, where) {
  const place = `(${where.map(digits).join(", ")})`;
  const [first, second] = presentCodes(scene).map((code) => rows.filter((row) => codesOf(scene)[row] === code));
  if (first.length === 1 && second.length === 1) return `They have the same coordinates, ${place}, but different classes.`;
  const around = (some) => (some.length === 1 ? `at point ${some[0] + 1}`
    : `${some.length === 2 ? "between" : "in the triangle of"} ${listed(some)}`);
  return `The position ${place} is ${around(first)} and also ${around(second)}. A line with ${listed(first)} on one side and ${
    listed(second)} on the other would have this position on both sides.`;
}

function ofSeveral(scene, X, codes, intercept, until) {
  if (X.length > MOST_OF_MANY) {
    return verdict("undecided", "Undecided", [`Several classes, or a kernel, are decided for at most ${MOST_OF_MANY} points here.`]);
  }
  const names = presentCodes(scene).map((code) => classNames(scene)[code]);
  const said = (kind) => SAID[kind] ?? kind;
  const kind = (rows, sides) => separation(rows.map((row) => X[row]), sides.map((side) => (side ? 1 : -1)), intercept, until).kind;
  const all = [...X.keys()];
  const lines = names.map((name, k) => `${name} against the rest: ${said(kind(all, codes.map((code) => code === k)))}.`);
  const pairs = pairsOf(names.length).map(([a, b]) => {
    const both = all.filter((row) => [a, b].includes(codes[row]));
    return `${names[b]} against ${names[a]}: ${said(kind(both, both.map((row) => codes[row] === b)))}.`;
  });
  const joint = kindOf(jointRows(X, codes, intercept), until).kind;
  return verdict(joint, TITLES[joint], [...lines, ...pairs]);
}

// The verdict on the images of the points in the space of the kernel.
function ofKernel(scene) {
  const no = "No curve of this kernel separates the classes.";
  const yes = "A curve of this kernel separates the classes.";
  const { kernel } = scene.settings;
  const same = contradiction(scene);
  if (same) {
    const place = scene.points[same[0]].slice(0, 2).map(digits).join(", ");
    return verdict("overlapping", no, [`${capital(listed(same))} have the same coordinates, (${place}), but different classes: no `
      + "function of the coordinates separates them."], same);
  }
  if (kernel === "rbf") {
    return verdict("separable", yes, ["All points have different coordinates. With a radial kernel their images are then linearly "
      + "independent, so a hyperplane separates them whatever their classes are (Micchelli 1986)."]);
  }
  const images = products(scene.points, scene.settings);
  const codes = denseCodes(scene);
  if (images[0].length > MOST_NUMBERS || images.length > MOST_OF_MANY) {
    return verdict("undecided", "Undecided", [`Kernels are decided up to degree 4, for at most ${MOST_OF_MANY} points here.`]);
  }
  return decidedSoon((until) => {
    if (presentCodes(scene).length > 2) return ofSeveral(scene, images, codes, false, until);
    const found = kindOf(whole(images)[0].map((row, i) => row.map((v) => BigInt(2 * codes[i] - 1) * v)), until);
    if (found.kind === "separable") {
      return verdict("separable", yes, [`In the space of the kernel, spanned by ${images[0].length} products of coordinates, a `
        + "hyperplane has every point on its side."]);
    }
    const rows = [...found.multipliers.keys()];
    return verdict(found.kind, no, ["Reflect the images of the first class through the origin. A separating hyperplane would give every "
      + `image a positive score, yet a positive combination of the images of ${listed(rows)} is exactly 0.`,
    ...(found.kind === "quasi-separable" ? [`Every curve without a point on the wrong side goes through ${listed(found.boundary)}.`] : [])], rows);
  });
}

// Whether weights separate sign-flipped rows of whole numbers: a guess in floats is checked without rounding.
function kindOf(A, until) {
  const sizes = A[0].map((_, j) => Math.max(...A.map((row) => Math.abs(Number(row[j])))) || 1);
  const found = hingeOptimum(A.map((row) => row.map((v, j) => Number(v) / sizes[j])), A.map(() => 1), 1e6);
  const [[weights]] = whole([found.map((w, j) => exact(w / sizes[j]))]);
  return A.every((row) => dot(row, weights) > 0n) ? { kind: "separable" } : decided(A, until);
}

// The products of coordinates that span the space of a kernel, in units that make them whole.
function products(points, { kernel, degree }) {
  const axes = [0, 1].map((axis) => whole(points.map((point) => [exact(point[axis])]))[0]);
  const powers = { linear: [[1, 0], [0, 1]], "all-subsets": [[0, 0], [1, 0], [0, 1], [1, 1]],
    poly: [...Array((degree + 1) ** 2).keys()].map((k) => [k % (degree + 1), Math.floor(k / (degree + 1))]).filter(([a, b]) => a + b <= degree) };
  return points.map((_, row) => powers[kernel].map(([a, b]) => new Fraction(axes[0][row][0] ** BigInt(a) * axes[1][row][0] ** BigInt(b))));
}

// Two points with the same coordinates and different classes, if there are any.
function contradiction({ points }) {
  const seen = new Map();
  for (const [row, [x, y, code]] of points.entries()) {
    const before = seen.get(`${x},${y}`);
    if (before === undefined) seen.set(`${x},${y}`, row);
    else if (points[before][2] !== code) return [before, row];
  }
  return null;
}

// The numbers of points, counted from 1, as a phrase.
function listed(rows) {
  const names = rows.slice(0, 12).map((row) => row + 1);
  if (rows.length > 12) return `points ${names.join(", ")} and ${rows.length - 12} others`;
  return names.length === 1 ? `point ${names[0]}` : `points ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// The bounds on the mistakes of a run, or why there is none.
function boundsOf(scene, run) {
  const none = (unbounded) => ({ bounds: [], unbounded });
  const { learner, gamma, start, schedule, intercept } = scene.settings;
  if (learner === "batch") return none("No bound: the theorems are about rules that update on one point at a time.");
  if (start.some(Boolean) && LEARNERS[learner].start) {
    return none("The theorems bound the mistakes of a run that starts from zero weights. This run starts from [b, w1, w2] = ["
      + `${start.map(digits).join(", ")}]: set the initial weights to 0 to see the bounds.`);
  }
  if (learner === "margin" && gamma === "auto") return none("No bound: 8/gamma² needs a fixed target margin.");
  if (!["perceptron", "margin"].includes(learner) || presentCodes(scene).length > 2) {
    return none("No bound here: the lab has those of the perceptron and the margin perceptron for two classes, linsep bounds has more.");
  }
  if (learner === "perceptron" && schedule !== "constant") return none("No bound: the theorems are about a constant learning rate.");
  const Z = rowsOf(scene).map((x) => (intercept ? [...x, 1] : x));
  const signs = denseCodes(scene).map((code) => 2 * code - 1);
  const seen = intercept ? "(1, x1, x2)" : "(x1, x2)";
  const scaled = learner === "margin" ? Z.map((z) => z.map((v) => v / Math.hypot(...z))) : Z;
  const [exactly, unit] = whole(scaled.map((z, i) => z.map((v) => exact(signs[i] * v))));
  let square;
  try { square = decided(exactly).square.over(new Fraction(unit * unit)); } catch (problem) {
    if (problem instanceof TooLong) return none(problem.message);
    throw problem;
  }
  if (learner === "margin") {
    return square.top && root(square)[0] >= gamma ? { bounds: [{ name: "8/gamma²", value: UP * (8 / gamma ** 2), what: "updates",
      about: `for points ${seen} scaled to length 1` }], unbounded: "" } : none("No bound: no line has the target margin.");
  }
  const longest = most(Z.map((z) => z.map(exact).reduce((sum, v) => sum.plus(v.times(v)), new Fraction(0n))));
  const bounds = square.top ? [{ name: "Novikoff", value: beside(longest.over(square).number(), 1), what: "mistakes",
    about: `(R/γ)², for any number of passes. Of the points ${seen}, R = ${sixDigits(root(longest)[1])} is the largest length and γ = ${
      sixDigits(root(square)[0])} the widest margin, for weights ${intercept ? "[b, w1, w2]" : "[w1, w2]"} of length 1.` }] : [];
  return { bounds: [...bounds, ...hingeBounds(Z, signs, longest.number(), run.pass.at(-1))], unbounded: "" };
}

// Of p passes: ||w||² R² + 2 p hinge(w), and the largest M with M - p hinge(w) <= ||w|| R sqrt(M), for
// weights w that make the first of them small.
function hingeBounds(Z, signs, square, passes) {
  const w = hingeOptimum(Z, signs, passes / square);
  const loss = passes * Z.reduce((sum, z, i) => sum + Math.max(0, 1 - signs[i] * dot(z, w)), 0);
  const long = Math.hypot(...w) * Math.sqrt(square);
  const about = `also for overlapping points; ${passes} pass${passes === 1 ? "" : "es"}`;
  return [{ name: "hinge", value: UP * (long ** 2 + 2 * loss), what: "mistakes", about },
    { name: "hinge, sharp", value: UP * ((long + Math.sqrt(long ** 2 + 4 * loss)) / 2) ** 2, what: "mistakes",
      about: "a sharper form of the hinge bound" }];
}
