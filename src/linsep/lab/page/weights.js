// Weight space: which weights put each point on its side, the region of solutions, the path.

import { make, makeSvg, resized, set } from "./dom.js";
import { digits, vector } from "../engine/numbers.js";
import { lineOf } from "./fit.js";
import { boxAround, clipped, corners, Scale } from "./geometry.js";
import { drawGrid } from "./grid.js";
import { classColor } from "./looks.js";
import { startable } from "./start.js";

const MOST_LINES = 40;

export class Weights {
  constructor(lab) {
    this.lab = lab;
    this.parts = {
      region: makeSvg("polygon", { class: "solutions" }), grid: makeSvg("g", { class: "grid" }),
      lines: makeSvg("g", { class: "half-planes" }), texts: makeSvg("g", { class: "grid" }), paths: makeSvg("g", { class: "paths" }),
      start: makeSvg("circle", { class: "start", r: 5 }), now: makeSvg("g", { class: "now" }),
    };
    this.svg = makeSvg("svg", { class: "picture", role: "img", "aria-label": "Weight space" },
      ...Object.values(this.parts));
    this.svg.addEventListener("click", (event) => this.click(event));
    this.frame = make("div", { class: "frame" }, this.svg);
    this.says = make("p", { class: "equation", id: "weights" });
    this.help = make("p", { class: "status" });
    this.node = make("section", { class: "card weights", "aria-label": "Weight space" },
      make("h2", {}, "Weight space"), this.frame,
      make("div", { class: "below" }, this.says, this.help));
    new ResizeObserver(() => resized(this)).observe(this.frame);
  }

  redraw() {
    this.scene();
    this.at(this.lab.at);
  }

  scene() {
    const { run } = this.lab;
    this.node.classList.toggle("hidden", Boolean(run?.kernel));
    this.scale = null;
    if (!run || run.kernel || !this.width) return;
    const vectors = [...Array(run.nVectors).keys()];
    const paths = vectors.map((v) => Array.from({ length: run.rounds + 1 }, (_, t) => run.weightsAt(t, v).slice(1)));
    const all = [[0, 0], ...paths.flat()];
    this.scale = new Scale(boxAround(all.some(([a, b]) => a || b) ? all : [[-2, -2], [2, 2]], this.width / this.height, 0.15),
      this.width, this.height);
    this.texts = paths.map((path) => path.map((w) => this.scale.point(w).join(",")));
    set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}` });
    drawGrid(this.parts, this.scale, ["w1", "w2"], 11);
    const color = (v) => (run.nVectors === 1 ? "var(--ink)" : classColor(run.present[v % run.present.length]));
    this.parts.paths.replaceChildren(...vectors.map((v) => makeSvg("polyline", { class: "path", stroke: color(v) })));
    this.parts.now.replaceChildren(...vectors.map((v) => makeSvg("circle", { r: 6, class: "here", fill: color(v) })));
    const [cx, cy] = this.scale.point(paths[0][0]);
    set(this.parts.start, { cx, cy });
    this.svg.classList.toggle("startable", startable(this.lab));
  }

  at(t) {
    const { run, scene } = this.lab;
    if (!this.scale) return;
    const weights = run.allWeightsAt(t);
    weights.forEach(([, ...w], v) => {
      set(this.parts.paths.children[v], { points: this.texts[v].slice(0, t + 1).join(" ") });
      const [cx, cy] = this.scale.point(w);
      set(this.parts.now.children[v], { cx, cy });
    });
    const single = run.nVectors === 1;
    const [b] = weights[0];
    this.says.textContent = single ? `[b, w1, w2] = ${vector(weights[0])}`.replaceAll("\u00a0", " ") : "";
    // the half-plane of each point is y (b + w1 x1 + w2 x2) > 0 at the intercept of now
    const halves = single ? scene.points.map(([x, y], j) => [b, x, y].map((v) => (run.codes[j] === 1 ? v : -v))) : [];
    const region = single ? halves.reduce(clipped, corners(this.scale.box)) : [];
    const middle = [0, 1].map((axis) => region.reduce((sum, place) => sum + place[axis] / region.length, 0));
    const which = halves.some(([h, u, v]) => !(h + u * middle[0] + v * middle[1] > 0)) ? "No weights in this picture" : "Green: weights that";
    this.help.textContent = `${!single ? "" : ["overlapping", "quasi-separable"].includes(this.lab.proof?.verdict.kind)
      ? "No weights classify every point correctly. " : `${which} classify every point correctly${scene.settings.intercept ? ` at b = ${digits(b)}` : ""}. `}${
      startable(this.lab) ? "Click to start from other weights." : ""}`;
    set(this.parts.region, { points: region.map((point) => this.scale.point(point).join(",")).join(" ") });
    this.parts.lines.replaceChildren(...(halves.length > MOST_LINES ? [] : halves)
      .flatMap((half, j) => lineOf(this.scale, half, null, classColor(scene.points[j][2]))));
  }

  click(event) {
    if (!this.scale || !startable(this.lab)) return;
    const box = this.svg.getBoundingClientRect();
    const w = this.scale.back(event.clientX - box.left, event.clientY - box.top)
      .map((value) => Number(value.toPrecision(2)));
    this.lab.changeSetting("start", [this.lab.scene.settings.start[0], ...w]);
  }
}
