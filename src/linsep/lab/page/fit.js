// The regression rooms: numbers and sentences of a fit, its table, and panels of residuals.

import { make, makeSvg, minus, short } from "./dom.js";
import { boxFree, Scale } from "./geometry.js";

export class Fit {
  constructor(lab) {
    this.lab = lab;
    this.title = make("p", { class: "title", id: "fit-title" });
    this.words = make("div", { class: "words", id: "fit-words", "aria-live": "polite" });
    this.numbers = make("dl", { class: "numbers" });
    this.panels = make("div", { class: "panels" });
    this.tests = make("dl", { class: "tests" });
    this.node = make("section", { class: "card fit", "aria-label": "Fit" },
      make("h2", {}, "The fit"), this.title, this.words, this.numbers, this.panels, this.tests);
    this.head = make("tr");
    this.body = make("tbody");
    this.table = make("section", { class: "card table", "aria-label": "Points and residuals" },
      make("h2", {}, "Points"), make("div", { class: "scroll", tabindex: "0", role: "region",
        "aria-label": "Table of points" }, make("table", {}, make("thead", {}, this.head),
        this.body)));
  }

  scene() {
    const { fit, idle } = this.lab;
    this.node.classList.toggle("hidden", !this.lab.regression);
    this.table.classList.toggle("hidden", !fit);
    const none = { title: "", sentences: [idle], numbers: [], assumptions: [], panels: [],
      columns: [], rows: [] };
    const { title, sentences, numbers, assumptions, panels, columns, rows } = fit ?? none;
    this.title.textContent = title;
    this.words.replaceChildren(...sentences.map((text) => make("p", {}, text)));
    const pairs = (list) => list.flatMap(([name, ...values]) => [make("dt", {}, name),
      ...values.map((value) => make("dd", {}, minus(value)))]);
    this.numbers.replaceChildren(...pairs(numbers));
    this.tests.replaceChildren(...pairs(assumptions));
    this.panels.replaceChildren(...panels.map((panel) => this.panel(panel)));
    this.head.replaceChildren(...columns.map((name) => make("th", { scope: "col" }, name)));
    const text = (value) => (typeof value === "number" ? minus(short(value)) : minus(value));
    this.body.replaceChildren(...rows.map((row) => make("tr", {},
      ...row.map((value) => make("td", {}, text(value))))));
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

  at() {}
}

// What a fit draws in the plane: the line with a stick to every point, or the curves.
export function drawnFit(fit, points, scale) {
  const [left, , right] = scale.box;
  if (fit.kind === "line") {
    const height = (x) => fit.line[0] + fit.line[1] * x;
    return [...points.map(([x, y]) => makeSvg("line", { class: "stick", x1: scale.x(x),
      x2: scale.x(x), y1: scale.y(y), y2: scale.y(height(x)) })),
    makeSvg("line", { class: "line", x1: 0, x2: scale.width, y1: scale.y(height(left)),
      y2: scale.y(height(right)) })];
  }
  return fit.curves.map(({ name, weights }) => {
    const path = Array.from({ length: 241 }, (_, k) => {
      const x = left + ((right - left) * k) / 240;
      return `${scale.x(x)},${scale.y(1 / (1 + Math.exp(-(weights[0] + weights[1] * x))))}`;
    });
    return makeSvg("polyline", { class: `curve ${name}`, points: path.join(" "),
      "data-name": name });
  });
}
