// A scene as a Python script that prints the numbers of the page.

import { classNames, codesOf, presentCodes } from "./scene.js";
import { FIELDS, LEARNERS } from "./settings.js";

//: settings that are parameters, by the names of these
const PARAMETERS = { rate: "learning_rate", schedule: "schedule", zero: "zero", gamma: "gamma", promotion: "promotion", kernel: "kernel",
  degree: "degree", width: "gamma" };

// Text of a value in Python.
function python(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
const called = (named) => Object.entries(named).map(([name, value]) => `, ${name}=${python(value)}`).join("");
const plain = (name) => (/^[+-]?\d+$/.test(name) ? Number(name) : name);

export function scriptOf(scene) {
  const scripts = { classes: ofRun, line: ofLine, curve: ofCurve, bayes: ofBayes, soft: ofSoft, descent: ofDescent };
  return scripts[scene.settings.room](scene);
}

function ofRun(scene) {
  const { settings, features } = scene;
  const { learner, start, intercept, beyond, rounds, shuffle, seed } = settings;
  const { estimator, intercept: has, start: takes } = LEARNERS[learner];
  const present = presentCodes(scene);
  const k = present.length;
  let names = present.map((code) => classNames(scene)[code]);
  names = names.every((name) => typeof plain(name) === "number") ? names.map(plain) : names;
  const sorted = [...names].sort((a, b) => (a < b ? -1 : 1));
  const ordered = String(sorted) === String(names);
  if (k > 2 && !ordered) names = names.map((name, number) => `${number + 1}: ${name}`);
  const y = codesOf(scene).map((code) => names[present.indexOf(code)]);
  const parameters = { max_iter: rounds, shuffle, ...(shuffle ? { random_state: seed } : {}), ...(k > 2 ? { multiclass: settings.classes } : {}),
    ...(has ? { fit_intercept: intercept } : {}), ...(learner === "batch" ? { update: "batch" } : {}),
    ...Object.fromEntries(FIELDS.filter((one) => PARAMETERS[one.name] && one.usedBy.includes(learner))
      .map(({ name }) => [PARAMETERS[name], settings[name]])) };
  const vectors = k <= 2 ? 0 : settings.classes === "ovo" ? (k * (k - 1)) / 2 : k;
  const each = (value) => (vectors ? Array.from({ length: vectors }, () => value) : value);
  const first = start.some(Boolean) && takes ? { coef_init: each(start.slice(1)), ...(intercept || !has ? { intercept_init: each(start[0]) } : {}) } : {};
  const reference = k === 2 && !ordered ? { reference: names[0] } : {};
  const tail = learner === "kernel" ? ["model.fit(X, y)", "print(model.stop_reason_, model.n_updates_)", "print(model.dual_coef_)"]
    : [`rounds = trace(model, X, y${called({ ...first, [beyond ? "rounds" : "max_rounds"]: rounds, ...reference, feature_names: features })})`,
      "print(rounds)", "print(sum(row.updates for row in rounds), rounds[-1].weights)"];
  return [`from linsep import ${estimator}, separation${learner === "kernel" ? "" : ", trace"}`, "", `X = ${pointsIn(scene)}`, `y = ${python(y)}`,
    `model = ${estimator}(${called(parameters).slice(2)})`, ...tail,
    `print(separation(X, y${has && !intercept ? ", fit_intercept=False" : ""}))`, ""].join("\n");
}

const pointsIn = ({ points }) => python(points.map(([x, y]) => [x, y]));
const column = ({ points }) => python(points.map(([x]) => [x]));

const ofLine = (scene) => `from linsep import LinearRegression\n\nX = ${column(scene)}\ny = ${python(scene.points.map(([, y]) => y))}\n`
  + "model = LinearRegression().fit(X, y)\nprint(model.summary())\nprint(model.assumptions(X, y))\n";

const ofCurve = (scene) => `from linsep import LogisticRegression, separation\n\nX = ${column(scene)}\ny = ${python(codesOf(scene))}\n`
  + 'print(separation(X, y).kind)\nmodel = LogisticRegression(penalty="firth").fit(X, y)\nprint(model.intercept_, model.coef_)\n';

const ofBayes = (scene) => `from linsep import GaussianNaiveBayes\n\nX = ${pointsIn(scene)}\ny = ${
  python(codesOf(scene).map((code) => classNames(scene)[code]))}\nmodel = GaussianNaiveBayes().fit(X, y)\n`
  + "print(model.classes_, model.priors_, model.means_, model.variances_ ** 0.5)\nprint(model.equation_)\nprint(model.predict_proba(X))\n";

const ofSoft = (scene) => `from linsep import SoftMargin\n\nX = ${pointsIn(scene)}\ny = ${python(codesOf(scene))}\n`
  + `model = SoftMargin(C=${scene.settings.cost}).fit(X, y)\nprint(model.intercept_, model.coef_, model.support_)\n`
  + "print(model.objective_, model.lower_bound_, model.stop_sentence_)\n";

//: formulas of surfaces and their gradients in Python
const FORMULAS = { bowl: ["w[0] ** 2 + w[1] ** 2", "(2 * w[0], 2 * w[1])"], valley: ["w[0] ** 2 + 10 * w[1] ** 2", "(2 * w[0], 20 * w[1])"],
  "two-minima": ["(w[0] ** 2 - 1) ** 2 + w[1] ** 2 + w[0] / 4", "(4 * w[0] * (w[0] ** 2 - 1) + 0.25, 2 * w[1])"],
  bend: ["(1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2", "(-2 * (1 - w[0]) - 40 * w[0] * (w[1] - w[0] ** 2), 20 * (w[1] - w[0] ** 2))"] };

function ofDescent(scene) {
  const { surface, from, eta, schedule, rounds } = scene.settings;
  const squared = surface === "squared-error";
  const code = FORMULAS[surface] ? FORMULAS[surface].map((text, k) => `${["J", "grad"][k]} = lambda w: ${text}\n`).join("")
    : `X = ${column(scene)}\ny = ${python(squared ? scene.points.map(([, y]) => y) : codesOf(scene))}\nJ, grad = descent.${
      squared ? "squared_error" : "log_likelihood"}(X, y)\n`;
  return `from linsep import descent\n\n${code}run = descent.minimize(J, ${python(from)}, grad, learning_rate=${eta}${
    schedule === "constant" ? "" : `, schedule="${schedule}"`}${surface === "likelihood" ? ", maximize=True" : ""}, max_iter=${
    Math.min(2000, rounds)})\nprint(run)\nprint(run.path)\n`;
}
