// A scene: points, their names, and settings. It comes from a shared link or from the page, so nothing in
// it is trusted: every value is checked, sizes are limited, and errors are one sentence.

import { checkedSetting, DEFAULTS, FIELDS, LARGEST, numberOf, parsedSetting, SETTINGS, spelledSetting } from "./settings.js";

export const [MOST_POINTS, MOST_CLASSES, LONGEST_NAME] = [500, 10, 40];
//: learners that the lab had before, whose points are shown with the usual one
export const LEFT = ["passive-aggressive", "arow", "scw", "online-logistic"];
const MOST_CHARACTERS = 40000;
//: names of the column of classes: the first that is not an axis
export const TARGETS = ["class", "label", "target"];
const LETTERS = "ABCDEFGHIJ";
const FEATURES = ["x1", "x2"];

export const defaultNames = (count) => (count <= 2 ? ["-1", "+1"].slice(0, count) : [...LETTERS.slice(0, count)]);

function checkedNames(given, most, what, empty = false) {
  const fine = Array.isArray(given) && given.length <= most && given.every((name) => typeof name === "string"
    && (name || empty) && name.length <= LONGEST_NAME && !/\p{C}/u.test(name));
  if (!fine) throw new Error(`The names of ${what} must be at most ${most} texts of 1 to ${LONGEST_NAME} characters.`);
  return given;
}

export function checkedLabels(labels) {
  if (new Set(labels).size < labels.length) throw new Error("The names of the classes must be different.");
  return checkedNames(labels, MOST_CLASSES, "classes");
}

// A scene of checked values, else an error about the first that is not valid.
export function checkedScene({ points = [], name = "", labels = [], features = FEATURES, settings = {}, at = 0 }) {
  if (!Array.isArray(points) || points.length > MOST_POINTS) throw new Error(`At most ${MOST_POINTS} points can be shown.`);
  const values = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, checkedSetting(key, value)]));
  if (!(Number.isInteger(at) && at >= 0 && at <= 10000)) throw new Error("The step must be a whole number from 0 to 10,000.");
  const axes = checkedNames(features, 2, "axes");
  if (new Set(axes).size !== 2) throw new Error("The axes need two different names.");
  return { points: points.map((point, k) => checkedPoint(point, k + 1)), name: checkedNames([name], 1, "name", true)[0],
    labels: checkedLabels(labels), features: axes, settings: { ...DEFAULTS, ...values }, at };
}

function checkedPoint(point, number) {
  if (!Array.isArray(point) || point.length !== 3) throw new Error(`Point ${number} needs two coordinates and a class.`);
  const [x, y, code] = point;
  if (![x, y].every((v) => typeof v === "number" && Math.abs(v) <= LARGEST)) {
    throw new Error(`Point ${number} needs coordinates from -1,000,000 to 1,000,000.`);
  }
  if (!Number.isInteger(code) || code < 0 || code >= MOST_CLASSES) {
    throw new Error(`Point ${number} needs a class from 0 to ${MOST_CLASSES - 1}.`);
  }
  return [x + 0, y + 0, code];
}

export const codesOf = ({ points }) => points.map((point) => point[2]);
export const rowsOf = ({ points }) => points.map(([x, y]) => [x, y]);
export const presentCodes = (scene) => [...new Set(codesOf(scene))].sort((a, b) => a - b);

// The names of all classes up to the largest in use, at least two.
export function classNames(scene) {
  const used = Math.max(1, ...codesOf(scene)) + 1;
  return scene.labels.length ? [...scene.labels, ...LETTERS.slice(scene.labels.length, used)] : defaultNames(used);
}

// The scene as the fragment of a URL, without the #.
export function urlOf({ points, name, labels, features, settings, at }) {
  const texts = (list) => list.map(encodeURIComponent).join(",");
  const parts = name ? [`data=${encodeURIComponent(name)}`] : [`points=${points.join(";")}`,
    ...(labels.length ? [`labels=${texts(labels)}`] : []),
    ...(String(features) === String(FEATURES) ? [] : [`features=${texts(features)}`])];
  FIELDS.forEach((one) => {
    if (String(settings[one.name]) !== String(one.initial)) parts.push(`${one.name}=${spelledSetting(settings[one.name])}`);
  });
  return [...parts, ...(at ? [`at=${at}`] : [])].join("&");
}

// The scene of a URL's fragment; `ready` has the ready-made ones by name.
export function sceneOfUrl(text, ready) {
  if (text.length > MOST_CHARACTERS) throw new Error(`The URL has ${text.length} characters: at most ${MOST_CHARACTERS} are read.`);
  const decoded = (part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  };
  const parts = Object.fromEntries(text.replace(/^#/, "").split("&").filter(Boolean).map((part) => {
    const place = part.indexOf("=");
    return place < 0 ? [part, ""] : [part.slice(0, place), part.slice(place + 1)];
  }));
  const { data, points = "", labels = "", features = "", at = "0", ...others } = parts;
  if (LEFT.includes(others.learner)) {
    delete others.learner;
    Object.keys(others).filter((key) => !SETTINGS[key]).forEach((key) => { delete others[key]; });
  }
  const settings = Object.fromEntries(Object.entries(others).map(([key, value]) => [key, parsedSetting(key, decoded(value))]));
  const step = numberOf(at);
  if (data !== undefined) {
    const found = ready(decoded(data));
    return checkedScene({ ...found, settings, at: step });
  }
  const names = (list) => (list ? list.split(",").map(decoded) : []);
  return checkedScene({ points: points.split(";").filter(Boolean).map((one) => one.split(",").map(numberOf)),
    labels: names(labels), features: features ? names(features) : FEATURES, settings, at: step });
}
