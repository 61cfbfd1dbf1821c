// The modes without a run: numbers and sentences of a fit, and its drawing.

import { make, makeSvg } from "./dom.js";
import { minus } from "../engine/numbers.js";
import { boxFree, chord, clipped, corners, Scale } from "./geometry.js";
import { classColor } from "./looks.js";

export class Fit {
  constructor(lab) {
    this.lab = lab;
    this.name = make("h2");
    this.title = make("p", { class: "title", id: "fit-title" });
    this.words = make("div", { class: "words", id: "fit-words", "aria-live": "polite" });
    this.numbers = make("dl", { class: "numbers" });
    this.residuals = make("figure");
    this.node = make("section", { class: "card fit", "aria-label": "Fit" },
      this.name, this.title, this.words, this.numbers, this.residuals);
  }

  scene() {
    const { fit, idle, regression, descends } = this.lab;
    this.node.classList.toggle("hidden", !regression);
    const { title, sentences, numbers, residuals } = fit ?? { title: "", sentences: [idle], numbers: [] };
    this.name.textContent = descends ? "Gradient descent" : "Fit";
    this.title.textContent = title;
    this.words.replaceChildren(...sentences.map((text) => make("p", {}, text)));
    this.numbers.replaceChildren(...numbers.flatMap(([name, value]) => [make("dt", {}, minus(name)), make("dd", {}, minus(value))]));
    this.residuals.replaceChildren(...(residuals ? pictureOf(residuals) : []));
  }
}

// A small picture of residuals over fitted values, which should lie around 0.
function pictureOf(residuals) {
  const scale = new Scale(boxFree(residuals), 300, 110);
  return [makeSvg("svg", { viewBox: `0 0 ${scale.width} ${scale.height}`, role: "img", "aria-label": "Residuals over fitted values" },
    ...lineOf(scale, [0, 0, 1], "expected"), ...residuals.map((point) => dotOf(scale, point, "residual", 2.5))),
  make("figcaption", {}, "Residuals / fitted")];
}

// The line of weights, where it is in the picture.
export function lineOf(scale, weights, name, stroke = null) {
  const ends = chord(scale.box, weights);
  if (!ends) return [];
  const [[x1, y1], [x2, y2]] = [ends.from, ends.to].map((end) => scale.point(end));
  return [makeSvg("line", { class: name, x1, y1, x2, y2, stroke })];
}

function dotOf(scale, point, name, r) {
  const [cx, cy] = scale.point(point);
  return makeSvg("circle", { class: name, cx, cy, r });
}

// Where scores are at least 0, in the color of a class; its edges beyond the picture are not seen.
function sideOf(scale, scores, code, name) {
  const around = corners(scale.around(4));
  return makeSvg("polygon", { class: name, fill: classColor(code),
    points: scores.reduce(clipped, around).map((place) => scale.point(place).join(",")).join(" ") });
}

// What a fit draws in the plane; marks are `times` as large as usual.
export function drawnFit(fit, points, scale, times) {
  return { line: drawnLine, curve: drawnCurves, bayes: drawnGaussians, soft: drawnMargin, descent: drawnContours }[fit.kind](
    fit, scale, points, times);
}

function drawnLine({ line: [b, w] }, scale, points) {
  return [...points.map(([x, y]) => makeSvg("line", { class: "stick", x1: scale.x(x), x2: scale.x(x), y1: scale.y(y), y2: scale.y(b + w * x) })),
    ...lineOf(scale, [b, w, -1], "line")];
}

// Where each class is the most probable one, its mean, and one and two standard deviations.
function drawnGaussians(fit, scale, points, times) {
  const sides = fit.weights.map((mine, k) => sideOf(scale, fit.weights.filter((_, j) => j !== k)
    .map((other) => mine.map((w, place) => w - other[place])), fit.present[k], "side most-probable"));
  return [...sides, ...fit.means.flatMap((mean, k) => {
    const [[cx, cy], stroke] = [scale.point(mean), classColor(fit.present[k])];
    const ellipse = (wide) => makeSvg("ellipse", { class: "deviation", cx, cy, stroke,
      rx: wide * fit.deviations[0] * scale.unit, ry: wide * fit.deviations[1] * scale.unitY });
    return [ellipse(1), ellipse(2), makeSvg("path", { class: "mean", stroke,
      d: `M${cx - 8 * times},${cy}h${16 * times}M${cx},${cy - 8 * times}v${16 * times}` })];
  })];
}

// The line, its sides, the lines of score -1 and 1, and marks around the support vectors.
function drawnMargin(fit, scale, points, times) {
  const [b, ...w] = fit.weights;
  const sides = [-1, 1].map((sign, k) => sideOf(scale, [fit.weights.map((v) => sign * v)], fit.present[k], "side"));
  const box = (j) => {
    const [x, y] = scale.point(points[j]).map((pixel) => pixel - 11 * times);
    return makeSvg("rect", { class: "support", x, y, width: 22 * times, height: 22 * times });
  };
  return [...(w.some(Boolean) ? sides : []), ...[0, -1, 1].flatMap((score) => lineOf(scale, [b - score, ...w], score ? "edge" : "line")),
    ...fit.on.map((j) => dotOf(scale, points[j], "support", 14 * times)), ...fit.inside.map(box)];
}

function drawnContours(fit, scale) {
  const text = (x, y) => scale.point([x, y]).map((pixel) => Math.round(10 * pixel) / 10).join(",");
  return fit.contours.map((line) => makeSvg("path", { class: "contour",
    d: line.map(([x, y, u, v]) => `M${text(x, y)}L${text(u, v)}`).join("") }));
}

function drawnCurves(fit, scale) {
  const [left, , right] = scale.box;
  return fit.curves.map(({ name, weights: [b, w] }) => {
    const places = Array.from({ length: 241 }, (_, k) => left + ((right - left) * k) / 240).map((x) => [x, 1 / (1 + Math.exp(-(b + w * x)))]);
    return makeSvg("polyline", { class: `curve ${name}`, points: places.map((place) => scale.point(place).join(",")).join(" "), "data-name": name });
  });
}
