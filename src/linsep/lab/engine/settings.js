// The settings of a scene: their controls on the page, valid values, and texts in URLs.

//: learners, their titles, and their classes in Python; `start`: whether they take initial weights
export const LEARNERS = {
  perceptron: { title: "perceptron", estimator: "Perceptron", intercept: true, start: true },
  batch: { title: "perceptron, batch rule", estimator: "Perceptron", intercept: true, start: true },
  margin: { title: "margin perceptron", estimator: "MarginPerceptron", intercept: true },
  winnow: { title: "Winnow", estimator: "Winnow" },
  "balanced-winnow": { title: "balanced Winnow", estimator: "BalancedWinnow", start: true },
  kernel: { title: "kernel perceptron", estimator: "KernelPerceptron" },
};
//: largest absolute value of a coordinate or of a weight
export const LARGEST = 1e6;
const TINY = 1 / LARGEST;
const NAMES = Object.keys(LEARNERS);
const [CLASSES, DESCENT, BOTH] = [["classes"], ["descent"], ["classes", "descent"]];
const ROOMS = ["classes", "soft", "line", "curve", "bayes", "descent"];
const having = (fact) => NAMES.filter((name) => LEARNERS[name][fact]);
const field = (name, label, initial, help, more = {}) => ({ name, label, initial, help, rooms: CLASSES, usedBy: [],
  low: -LARGEST, high: LARGEST, word: "", choices: [], titles: {}, slider: false, size: Array.isArray(initial) ? initial.length : 1,
  kind: typeof initial === "boolean" ? "yes or no" : more.choices ? "choice" : "number", ...more });

export const FIELDS = [
  field("room", "Mode", "classes", "What is fitted to the points.", { rooms: ROOMS, choices: ROOMS }),
  field("cost", "C", 1, "Cost of errors, relative to the squared weights.", { rooms: ["soft"], slider: true, low: TINY }),
  field("surface", "Surface", "valley", "The function to minimize.", { rooms: DESCENT,
    choices: ["bowl", "valley", "two-minima", "bend", "squared-error", "likelihood"] }),
  field("eta", "Learning rate", 0.02, "Factor of the gradient in every step.", { rooms: DESCENT, slider: true, low: TINY, high: 10 }),
  field("from", "From", [-2, 1], "Start of the descent; or click in the plane.", { rooms: DESCENT }),
  field("learner", "Learner", "perceptron", "How a mistake changes the weights.", { choices: NAMES,
    titles: Object.fromEntries(NAMES.map((name) => [name, LEARNERS[name].title])) }),
  field("keep", "Weights to predict with", "last",
    "Weights to predict with: the last, the mean, a vote of all, or the best so far.", { choices: ["last", "average", "vote", "best"] }),
  field("rate", "Learning rate", 1, "Learning rate.", { low: TINY, usedBy: ["perceptron", "batch"] }),
  field("schedule", "Schedule", "constant", "Learning rate of update k: constant, divided by k, or by its square root.",
    { rooms: BOTH, choices: ["constant", "inverse", "inverse_sqrt"], usedBy: ["perceptron", "batch"] }),
  field("gamma", "Target margin", "auto", "Target margin of rows scaled to length 1; auto finds it by halving.",
    { low: TINY, high: 1, word: "auto", usedBy: ["margin"] }),
  field("promotion", "Promotion", 2, "Factor of weights in an update, for a feature of 1.",
    { low: 1 + TINY, usedBy: ["winnow", "balanced-winnow"] }),
  field("zero", "A score of zero", "mistake", "What a score of zero is during training: a mistake, a prediction of the first class, or correct.",
    { choices: ["mistake", "negative", "correct"], usedBy: ["perceptron", "batch"] }),
  field("kernel", "Kernel", "rbf", "Kernel, the similarity of two rows.",
    { choices: ["linear", "poly", "all-subsets", "rbf"], usedBy: ["kernel"] }),
  field("degree", "Degree", 2, "Degree of the polynomial kernel.", { low: 1, high: 10, whole: true, usedBy: ["kernel"] }),
  field("width", "Gamma of the kernel", 1, "Factor of the product or distance in the kernel.", { low: TINY, usedBy: ["kernel"] }),
  field("classes", "Several classes", "native", "Strategy for more than two classes: one joint rule, one-vs-rest, or one-vs-one.",
    { choices: ["native", "ovr", "ovo"] }),
  field("intercept", "Intercept", true, "Fit an intercept.", { usedBy: having("intercept") }),
  field("start", "Initial weights", [0, 0, 0], "b, w1 and w2 before the first step.", { usedBy: having("start") }),
  field("shuffle", "Shuffle", false, "Visit rows in random order after the first pass."),
  field("seed", "Seed", 0, "Seed of the shuffled order.", { low: 0, high: 2 ** 31 - 1, whole: true }),
  field("rounds", "Maximum steps", 2000, "The run is cut after so many steps.", { rooms: BOTH, low: 1, high: 10000, whole: true }),
  field("beyond", "Beyond a cycle", false, "Whether the run continues to its maximum of steps when weights recur.",
    { usedBy: ["perceptron", "batch"] }),
];
export const SETTINGS = Object.fromEntries(FIELDS.map((one) => [one.name, one]));
export const DEFAULTS = Object.fromEntries(FIELDS.map(({ name, initial }) => [name, initial]));

const NUMBER = /^[+-]?(\d{1,20}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?$/;

// The number of a text in decimal digits, NaN for any other text.
export function numberOf(text) { return NUMBER.test(text) ? Number(text) : NaN; }

function fits(one, value) {
  if (one.kind === "yes or no") return typeof value === "boolean";
  if (one.kind === "choice") return one.choices.includes(value);
  return (one.word && value === one.word) || (typeof value === "number" && value >= one.low && value <= one.high
    && (!one.whole || Number.isInteger(value)));
}

function wanted(one) {
  if (one.kind === "yes or no") return one.kind;
  if (one.kind === "choice") return `one of ${one.choices.join(", ")}`;
  const range = `number${one.size > 1 ? "s" : ""} from ${one.low} to ${one.high}`;
  return `${one.size > 1 ? one.size : one.whole ? "a whole" : "a"} ${range}${one.word ? ` or ${one.word}` : ""}`;
}

// A valid value of a setting, else an error.
export function checkedSetting(name, value) {
  const one = SETTINGS[name];
  if (!one) throw new Error(`Unknown setting '${String(name).slice(0, 40)}'.`);
  const parts = one.size > 1 && Array.isArray(value) ? value : [value];
  if (parts.length !== one.size || !parts.every((part) => fits(one, part))) {
    throw new Error(`The setting ${name} must be ${wanted(one)}.`);
  }
  return one.size > 1 ? [...value] : value;
}

// The value of a text in a URL.
export function parsedSetting(name, text) {
  const one = SETTINGS[name];
  if (!one) throw new Error(`The URL has an unknown part '${name.slice(0, 40)}'.`);
  if (one.kind === "yes or no") return checkedSetting(name, { yes: true, no: false }[text]);
  if (one.kind === "choice" || (one.word && text === one.word)) return checkedSetting(name, text);
  const numbers = text.split(",").map(numberOf);
  return checkedSetting(name, one.size > 1 ? numbers : numbers.length === 1 ? numbers[0] : NaN);
}

export function spelledSetting(value) {
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}
