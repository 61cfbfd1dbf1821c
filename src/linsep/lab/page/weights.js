// Weight space: which weights put each point on its side, the region of solutions, the path.

import { make, makeSvg, set } from "./dom.js";
import { digits, vector } from "../engine/numbers.js";
import { boxAround, chord, clipped, corners, Scale } from "./geometry.js";
import { gridOf } from "./grid.js";
import { classColor } from "./looks.js";
import { startable } from "./start.js";

const MOST_LINES = 40;

export class Weights {
  constructor(lab) {
    this.lab = lab;
    this.parts = {
      region: makeSvg("polygon", { class: "solutions" }), grid: makeSvg("g", { class: "grid" }),
      lines: makeSvg("g", { class: "half-planes" }), paths: makeSvg("g", { class: "paths" }),
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
    new ResizeObserver(() => this.resize()).observe(this.frame);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (!width || !height || (this.width === width && this.height === height)) return;
    [this.width, this.height] = [width, height];
    if (this.lab.scene) { this.scene(); this.at(this.lab.at); }
  }

  scene() {
    const { run } = this.lab;
    this.node.classList.toggle("hidden", Boolean(run?.kernel));
    this.scale = null;
    if (!run || run.kernel || !this.width) { this.clear(); return; }
    this.paths = Array.from({ length: run.nVectors }, () => []);
    const all = [[0, 0]];
    for (let v = 0; v < run.nVectors; v += 1) {
      let before = [NaN, NaN];
      for (let t = 0; t <= run.rounds; t += 1) {
        const [, w1, w2] = run.weightsAt(t, v);
        if (w1 !== before[0] || w2 !== before[1]) {
          this.paths[v].push([t, w1, w2]);
          all.push([w1, w2]);
          before = [w1, w2];
        }
      }
    }
    const wide = all.length > 1 && all.some(([a, b]) => a || b) ? all : [[-2, -2], [2, 2]];
    this.box = boxAround(wide, this.width / this.height, 0.15);
    this.scale = new Scale(this.box, this.width, this.height);
    this.texts = this.paths.map((path) => path.map(([, ...w]) => this.scale.point(w).join(",")));
    set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}` });
    this.parts.grid.replaceChildren(...gridOf(this.scale, ["w1", "w2"], 11)[1]);
    this.parts.paths.replaceChildren(...this.paths.map((_, v) => makeSvg("polyline",
      { class: "path", stroke: this.color(v) })));
    this.parts.now.replaceChildren(...this.paths.map((_, v) => makeSvg("circle",
      { r: 6, class: "here", fill: this.color(v) })));
    const [sx, sy] = this.scale.point(run.weightsAt(0).slice(1));
    set(this.parts.start, { cx: sx, cy: sy });
    const free = startable(this.lab);
    this.svg.classList.toggle("startable", free);
    this.free = free ? "Click to start from other weights." : "";
  }

  color(vector) {
    const { run } = this.lab;
    if (run.nVectors === 1) return "var(--ink)";
    return classColor(run.present[vector % run.present.length]);
  }

  clear() {
    for (const part of Object.values(this.parts)) part.replaceChildren();
    set(this.parts.region, { points: "" });
    this.says.textContent = "";
    this.help.textContent = "";
  }

  // The half-plane of each point is y (b + w1 x1 + w2 x2) > 0 at the intercept of now.
  halfPlanes(b) {
    const { run, scene } = this.lab;
    return scene.points.map(([x, y], j) => {
      const sign = run.codes[j] === 1 ? 1 : -1;
      return [sign * b, sign * x, sign * y];
    });
  }

  at(t) {
    const { run, scene } = this.lab;
    if (!this.scale || !run) return;
    const weights = run.allWeightsAt(t);
    weights.forEach(([, w1, w2], v) => {
      const path = this.paths[v];
      let [low, high] = [0, path.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (path[middle][0] <= t) low = middle + 1; else high = middle;
      }
      set(this.parts.paths.children[v], { points: this.texts[v].slice(0, low).join(" ") });
      const [cx, cy] = this.scale.point([w1, w2]);
      set(this.parts.now.children[v], { cx, cy });
    });
    const single = run.nVectors === 1;
    this.says.textContent = single
      ? `[b, w1, w2] = [${weights[0].map((w) => digits(w)).join(", ")}]` : "";
    const where = scene.settings.intercept ? ` at b = ${digits(weights[0][0])}` : "";
    this.help.textContent = `${single ? `Green: weights that classify every point correctly${where}. ` : ""}${
      this.free}`;
    if (single && weights[0][0] !== this.shownFor) this.drawHalfPlanes(weights[0][0]);
    if (!single) { this.parts.lines.replaceChildren(); set(this.parts.region, { points: "" }); }
    this.shownFor = single ? `${weights[0][0]} ${scene.points.length}` : null;
  }

  drawHalfPlanes(b) {
    const halves = this.halfPlanes(b);
    const region = halves.reduce((polygon, half) => clipped(polygon, half), corners(this.box));
    set(this.parts.region, {
      points: region.map((point) => this.scale.point(point).join(",")).join(" ") });
    const shown = halves.length > MOST_LINES ? [] : halves;
    this.parts.lines.replaceChildren(...shown.flatMap((half, j) => {
      const found = chord(this.box, half);
      if (!found) return [];
      const [[x1, y1], [x2, y2]] = [this.scale.point(found.from), this.scale.point(found.to)];
      return [makeSvg("line", { x1, y1, x2, y2,
        stroke: classColor(this.lab.scene.points[j][2]) })];
    }));
  }

  click(event) {
    if (!this.scale || !startable(this.lab)) return;
    const box = this.svg.getBoundingClientRect();
    const w = this.scale.back(event.clientX - box.left, event.clientY - box.top)
      .map((value) => Number(value.toPrecision(2)));
    this.lab.changeSetting("start", [this.lab.scene.settings.start[0], ...w]);
  }
}
