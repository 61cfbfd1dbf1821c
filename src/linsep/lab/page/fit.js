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
    this.panels = make("div", { class: "panels" });
    this.node = make("section", { class: "card fit", "aria-label": "Fit" },
      this.name, this.title, this.words, this.numbers, this.panels);
  }

  scene() {
    const { fit, idle, regression, descends } = this.lab;
    this.node.classList.toggle("hidden", !regression);
    const { title, sentences, numbers, panels } = fit ?? { title: "", sentences: [idle], numbers: [], panels: [] };
    this.name.textContent = descends ? "Gradient descent" : "Fit";
    this.title.textContent = title;
    this.words.replaceChildren(...sentences.map((text) => make("p", {}, text)));
    this.numbers.replaceChildren(...numbers.flatMap(([name, value]) => [make("dt", {}, minus(name)), make("dd", {}, minus(value))]));
    this.panels.replaceChildren(...panels.map((panel) => this.panel(panel)));
  }

  // A small scatter plot with the line that the points should lie around.
  panel({ title, x, line, points }) {
    const [width, height] = [150, 110];
    const scale = new Scale(boxFree(points), width, height);
    const [left, , right] = scale.box;
    const [b, w] = line;
    return make("figure", {}, makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${title} over ${x}` },
    makeSvg("line", { class: "expected", x1: 0, x2: width, y1: scale.y(b + w * left),
      y2: scale.y(b + w * right) }),
    ...points.map(([px, py]) => makeSvg("circle", { cx: scale.x(px), cy: scale.y(py), r: 2.5,
      class: "residual" }))), make("figcaption", {}, `${title} / ${x}`));
  }
}

// What a fit draws in the plane; marks are `times` as large as usual.
export function drawnFit(fit, points, scale, times) {
  return { line: drawnLine, curve: drawnCurves, bayes: drawnGaussians, soft: drawnMargin, descent: drawnContours }[fit.kind](
    fit, scale, points, times);
}

// The line, with a stick to every point.
function drawnLine(fit, scale, points) {
  const [left, , right] = scale.box;
  const height = (x) => fit.line[0] + fit.line[1] * x;
  return [...points.map(([x, y]) => makeSvg("line", { class: "stick", x1: scale.x(x),
    x2: scale.x(x), y1: scale.y(y), y2: scale.y(height(x)) })),
  makeSvg("line", { class: "line", x1: 0, x2: scale.width, y1: scale.y(height(left)),
    y2: scale.y(height(right)) })];
}

const joined = (scale, places) => places.map((place) => scale.point(place).join(",")).join(" ");

// Where each class is the most probable one, its mean, and one and two standard deviations.
function drawnGaussians(fit, scale, points, times) {
  const around = corners(scale.around(4));  // its own edges are out of the picture
  const colors = fit.present.map((code) => classColor(code));
  const sides = fit.weights.map((mine, k) => fit.weights.reduce((polygon, other, j) => (j === k
    ? polygon : clipped(polygon, mine.map((w, place) => w - other[place]))), around));
  return [...sides.map((side, k) => makeSvg("polygon", { class: "side most-probable",
    points: joined(scale, side), fill: colors[k] })),
  ...fit.means.flatMap((mean, k) => {
    const [cx, cy] = scale.point(mean);
    const ellipse = (wide) => makeSvg("ellipse", { class: "deviation", cx, cy, stroke: colors[k],
      rx: wide * fit.deviations[0] * scale.unit, ry: wide * fit.deviations[1] * scale.unitY });
    return [ellipse(1), ellipse(2), makeSvg("path", { class: "mean", stroke: colors[k],
      d: `M${cx - 8 * times},${cy}h${16 * times}M${cx},${cy - 8 * times}v${16 * times}` })];
  })];
}

// The line, its sides, the lines of score -1 and 1, and marks around the support vectors.
function drawnMargin(fit, scale, points, times) {
  const [b, w1, w2] = fit.weights;
  const around = corners(scale.around(4));
  const sides = [-1, 1].map((sign, k) => makeSvg("polygon", { class: "side",
    points: joined(scale, clipped(around, fit.weights.map((w) => sign * w))),
    fill: classColor(fit.present[k]) }));
  const level = (score, name) => {
    const ends = chord(scale.box, [b - score, w1, w2]);
    if (!ends) return [];
    const [[x1, y1], [x2, y2]] = [scale.point(ends.from), scale.point(ends.to)];
    return [makeSvg("line", { class: name, x1, y1, x2, y2 })];
  };
  const at = (j) => scale.point(points[j]);
  return [...(w1 || w2 ? sides : []), ...level(0, "line"), ...level(-1, "edge"), ...level(1, "edge"),
    ...fit.on.map((j) => makeSvg("circle", { class: "support", cx: at(j)[0], cy: at(j)[1],
      r: 14 * times })),
    ...fit.inside.map((j) => makeSvg("rect", { class: "support", x: at(j)[0] - 11 * times,
      y: at(j)[1] - 11 * times, width: 22 * times, height: 22 * times }))];
}

// The probability of every class at a place.
export function probabilities(fit, [x, y]) {
  const scores = fit.weights.map(([b, w1, w2]) => b + w1 * x + w2 * y);
  const highest = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - highest));
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
}

function drawnContours(fit, scale) {
  const text = (x, y) => scale.point([x, y]).map((pixel) => Math.round(10 * pixel) / 10).join(",");
  return fit.contours.map((line) => makeSvg("path", { class: "contour",
    d: line.map(([x, y, u, v]) => `M${text(x, y)}L${text(u, v)}`).join("") }));
}

function drawnCurves(fit, scale) {
  const [left, , right] = scale.box;
  return fit.curves.map(({ name, weights }) => {
    const path = Array.from({ length: 241 }, (_, k) => {
      const x = left + ((right - left) * k) / 240;
      return `${scale.x(x)},${scale.y(1 / (1 + Math.exp(-(weights[0] + weights[1] * x))))}`;
    });
    return makeSvg("polyline", { class: `curve ${name}`, points: path.join(" "),
      "data-name": name });
  });
}
