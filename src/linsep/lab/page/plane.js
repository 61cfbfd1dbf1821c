// The plane: points that can be added, moved, relabeled and deleted, and the line of the weights.

import { equation, make, makeSvg, resized, set } from "./dom.js";
import { digits, minus, short } from "../engine/numbers.js";
import { probabilities } from "../engine/rules.js";
import { Descent } from "./descent.js";
import { boxAround, boxFree, chord, clipped, corners, Scale, tooClose } from "./geometry.js";
import { drawnFit } from "./fit.js";
import { drawGrid } from "./grid.js";
import { Handle } from "./handle.js";
import { Legend } from "./legend.js";
import { classColor } from "./looks.js";
import { Points } from "./points.js";
import { Regions } from "./regions.js";
import { scoresOf } from "./run.js";
import { StartArrow } from "./start.js";
import { Tools } from "./tools.js";

const ARROW = 56;
//: pixels from a line of the grid within which a point that is dragged stays on it
const NEAR = 5;

export class Plane {
  constructor(lab) {
    this.lab = lab;
    this.points = new Points(this);
    this.legend = new Legend(lab);
    const line = (name, more) => makeSvg("line", { class: name, ...more });
    const arrow = (name) => line(name, { "marker-end": "url(#lab-arrow)" });
    this.from = new Handle("from", "Start of the descent", (...to) => this.startFrom(...to));
    this.start = new StartArrow(this);
    this.descent = new Descent(this);
    this.parts = {
      sides: makeSvg("g", { class: "sides" }), grid: makeSvg("g", { class: "grid" }), band: makeSvg("polygon", { class: "band" }),
      witness: makeSvg("g", { class: "witness" }), widest: line("widest"),
      fit: makeSvg("g", { class: "fitted" }), descent: this.descent.node, before: line("before"), line: line("line"),
      curve: makeSvg("path", { class: "line curve-between" }), normal: arrow("normal"),
      update: arrow("update"), texts: makeSvg("g", { class: "grid" }), from: this.from.node, start: this.start.node,
      points: this.points.node,
    };
    const head = makeSvg("marker", { id: "lab-arrow", viewBox: "0 0 10 10", refX: 8, refY: 5,
      markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    makeSvg("path", { d: "M0,0 L10,5 L0,10 z", class: "arrowhead" }));
    this.svg = makeSvg("svg", { class: "picture", role: "group",
      "aria-label": "Plane with the points. Click to add a point." },
    makeSvg("defs", {}, head), ...Object.values(this.parts));
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointercancel", () => this.letGo());
    this.svg.addEventListener("contextmenu", (event) => this.menu(event));
    this.frame = make("div", { class: "frame" }, this.svg);
    this.tools = new Tools(this);
    this.says = make("p", { class: "equation", id: "equation" });
    this.status = make("p", { class: "status", id: "status", "aria-live": "polite" });
    this.node = make("section", { class: "card plane", "aria-label": "Plane" },
      this.tools.node, this.frame, this.legend.node,
      make("div", { class: "below" }, this.says, this.status));
    new ResizeObserver(() => resized(this)).observe(this.frame);
  }

  redraw() {
    this.fit();
    this.scene();
    this.at(this.lab.at);
  }

  // Show all points, or the box of a fit.
  fit() {
    if (!this.width) return;
    const { scene, fit } = this.lab;
    const { room, intercept } = scene.settings;
    const { box, equal } = fit ?? {};
    const around = this.points.places();
    const shape = this.width / this.height;
    if (room === "curve") around.push(...[0, 1].map((height) => [around[0]?.[0] ?? 0, height]));
    else if (around.length && !intercept) around.push([0, 0]);
    this.box = equal ? boxAround([box.slice(0, 2), box.slice(2)], shape, 0)
      : box ?? (["line", "curve"].includes(room) ? boxFree(around) : boxAround(around, shape));
    this.scale = new Scale(this.box, this.width, this.height);
  }

  // Whether every point is in the picture.
  get showsAll() {
    const [left, bottom, right, top] = this.box ?? [];
    return Boolean(this.lab.fit?.box) || this.points.places().every(([x, y]) => x >= left && x <= right && y >= bottom && y <= top);
  }

  scene() {
    const { scene } = this.lab;
    if (!this.width) return;
    set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}` });
    this.tools.draw();
    this.lines = drawGrid(this.parts, this.scale, this.lab.fit?.axes ?? scene.features, this.lab.stage.type);
    this.points.draw();
    const { settings } = scene;
    const { run } = this.lab;
    const curved = run && (run.kernel || run.nVectors > 1 || settings.keep === "vote");
    this.regions = curved ? new Regions(run, scene, this.scale) : null;
    this.legend.scene();
    this.drawProof();
    const { fit } = this.lab;
    this.parts.fit.replaceChildren(...(fit ? drawnFit(fit, scene.points, this.scale, this.lab.stage.times) : []));
    this.descent.scene();
    this.svg.setAttribute("aria-label", `Plane with the points. Click to ${
      this.lab.descends ? "start the descent there" : "add a point"}.`);
    if (!this.lab.descends) this.from.hide();
    else if (!this.from.held) {
      const [x, y] = settings.from;
      this.from.show(this.scale.point([x, y]), `Start of the descent at ${short(x)}, ${short(y)}`);
    }
  }

  startFrom(pixels, dragged) {
    this.lab.changeSetting("from", this.rounded(this.scale.back(...pixels)), { final: !dragged });
  }

  // The rows of the proof: rings, the hulls of both classes and the place where they meet.
  drawProof() {
    if (!this.scale) return;
    const { verdict } = this.lab.proof ?? {};
    const rows = verdict?.rows ?? [];
    this.points.dots.forEach((dot, j) => dot.classList.toggle("proof", rows.includes(j)));
    const proving = verdict?.meeting ? rows.map((row) => this.lab.scene.points[row]) : [];
    this.parts.witness.replaceChildren(...[...new Set(proving.map(([, , code]) => code))].map((code) => makeSvg("polygon", { class: "hull",
      stroke: classColor(code), fill: classColor(code), points: this.pixels(proving.filter((p) => p[2] === code)) })));
    if (proving.length) {
      const [px, py] = this.scale.point(verdict.meeting);
      this.parts.witness.append(makeSvg("path", { class: "meeting", d: `M${px - 6},${py - 6}l12,12m0,-12l-12,12` }));
    }
    this.place(this.parts.widest, verdict?.widest ?? null);
    this.legend.at();
  }

  // Draw a line of weights; null hides it. Returns its chord.
  place(node, weights) {
    const found = weights && chord(this.box, weights);
    node.style.display = found ? "" : "none";
    if (!found) return null;
    const [[x1, y1], [x2, y2]] = [this.scale.point(found.from), this.scale.point(found.to)];
    set(node, { x1, y1, x2, y2 });
    return found;
  }

  at(t) {
    if (!this.scale) return;
    const { run, scene } = this.lab;
    const { settings } = scene;
    const weights = run && !this.regions ? run.weightsAt(t, 0, settings.keep) : null;
    const found = this.place(this.parts.line, weights);
    const old = weights && t && settings.keep === "last" ? run.weightsAt(t - 1) : null;
    const before = old && String(old) !== String(weights) ? old : null;
    this.place(this.parts.before, before);
    this.parts.update.style.display = "none";
    if (this.regions) this.drawRegions(t);
    else this.drawSides(weights);
    if (!this.start.at(t, found)) this.drawNormal(found, weights, before);
    this.markPoints(t, weights);
    this.descent.at(t);
    this.legend.at();
    this.says.textContent = weights ? equation(weights, scene.features) : this.lab.fit?.title ?? "";
    this.says.title = weights ? "b + w1 x1 + w2 x2 = 0" : "";
  }

  drawRegions(t) {
    const { areas, curve } = this.regions.paths(t);
    this.parts.sides.replaceChildren(...areas.map((d, k) => {
      const code = this.lab.run.present[k];
      return makeSvg("path", { class: "side", d, fill: classColor(code), "data-class": code });
    }));
    set(this.parts.curve, { d: curve });
  }

  // Both sides of a line; a score of 0 everywhere, and no run, leave the plane white.
  drawSides(weights) {
    const halves = weights?.some(Boolean) ? [weights.map((w) => -w), weights] : [];
    this.parts.sides.replaceChildren(...halves.map((half, k) => makeSvg("polygon", { class: "side",
      "data-class": this.lab.run.present[k], fill: classColor(this.lab.run.present[k]), points: this.pixels(clipped(corners(this.box), half)) })));
    set(this.parts.curve, { d: "" });
  }

  pixels(polygon) { return polygon.map((p) => this.scale.point(p).join(",")).join(" "); }

  // The direction of the weights, and the arrow from the old ones to those that a step made.
  drawNormal(found, weights, before) {
    const { normal, update } = this.parts;
    normal.style.display = found ? "" : "none";
    if (!found) return;
    const [x1, y1] = this.scale.point(found.foot);
    const all = [weights, ...(before ? [before] : [])].map(([, ...w]) => w);
    const long = (ARROW * this.lab.stage.times) / Math.max(...all.map((w) => Math.hypot(...w)));
    const [[x2, y2], old] = all.map(([w1, w2]) => [x1 + long * w1, y1 - long * w2]);
    set(normal, { x1, y1, x2, y2 });
    if (!old) return;
    update.style.display = "";
    set(update, { x1: old[0], y1: old[1], x2, y2 });
  }

  // Rings around points that are not on their side, a halo around the point of this step, the band:
  // where points are too close for the margin perceptron, or the margin if no point has a ring.
  markPoints(t, weights) {
    const { run, scene, fit } = this.lab;
    const { band } = this.parts;
    const wrong = scene.points.map(([x, y], j) => (!run ? Boolean(fit?.wrong?.includes(j))
      : weights ? run.isWrong(scoresOf([weights], x, y), j)
        : this.regions.sideOfPoint(j) !== run.codes[j]));
    const count = this.points.show(wrong, run && t ? run.row[t - 1] : -1);
    const nearest = Math.min(...scene.points.map(([x, y]) => (
      weights ? Math.abs(scoresOf([weights], x, y)[0]) : Infinity)));
    const clean = weights && !count && Number.isFinite(nearest);
    const [b, ...w] = weights ?? [];
    const { keep, intercept } = scene.settings;
    const [, aim] = (weights && keep === "last" && run.margins[Math.min(t, run.rounds - 1)]) || [];
    band.classList.toggle("close", Boolean(aim));
    set(band, { points: this.pixels(aim ? tooClose(this.box, weights, aim, Number(intercept))
      : !clean ? [] : clipped(clipped(corners(this.box), [b + nearest, ...w]), [nearest - b, -w[0], -w[1]])) });
    this.legend.tally.textContent = ` (${count} of ${scene.points.length})`;
    this.showStatus(t, count, clean ? nearest / Math.hypot(...w) : null);
  }

  showStatus(t, wrong, margin) {
    const { run, fit, scene: { points }, idle } = this.lab;
    this.status.setAttribute("aria-live", run ? "off" : "polite"); // the story describes runs
    const said = { descent: "Click or drag the ring to start elsewhere", curve: `${points.length} points; solid: likelihood, dashed: Firth`,
      bayes: `${points.length} points; probabilities follow the pointer`,
      soft: `${points.length} points; rings: on the margin, squares: inside it`, line: `${points.length} points` };
    const end = run && t === run.rounds ? { converged: ". Converged.", cycle: ". The run cycles." }[run.reason] ?? "" : "";
    this.status.textContent = !run ? said[fit?.kind] ?? idle : (wrong ? `${wrong} of ${points.length} points not on their side`
      : `all ${points.length} points on their side${margin === null ? "" : `, margin ${short(margin)}`}`) + end;
  }

  spot(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // The same, kept inside the picture.
  inside(event) {
    const [px, py] = this.spot(event);
    return [Math.min(this.width, Math.max(0, px)), Math.min(this.height, Math.max(0, py))];
  }

  press(event) {
    if (event.button) return;
    const dot = event.target.closest(".dot");
    const handle = [this.from, this.start.tip].find(({ node }) => node.contains(event.target));
    if (handle) handle.held = true;
    this.held = { point: dot ? Number(dot.dataset.point) : null, handle, from: this.spot(event), moved: false };
    this.svg.setPointerCapture(event.pointerId);
    if (dot) this.lab.select(this.held.point);
  }

  move(event) {
    const { fit, scene } = this.lab;
    const [px, py] = this.spot(event);
    if (fit?.kind === "bayes") {
      const place = this.rounded(this.scale.back(px, py));
      const each = probabilities(fit.weights, ...place).map((p, k) => (
        `P(${minus(this.lab.classNames[fit.present[k]])}) = ${p.toFixed(3)}`));
      this.status.textContent = `at ${place.map((x) => digits(x)).join(", ")}: ${each.join(", ")}`;
    }
    if (!this.held || !scene) return;
    this.held.moved ||= Math.hypot(px - this.held.from[0], py - this.held.from[1]) > 3;
    const { point, handle, moved } = this.held;
    if (!moved) return;
    if (handle) handle.move(this.inside(event), true);
    else if (point !== null) this.lab.movePoint(point, this.snapped(this.scale.back(...this.inside(event))), true);
  }

  release(event) {
    const held = this.letGo();
    if (!held) return;
    const { point, handle, moved } = held;
    if (moved && handle) handle.move(this.inside(event), false);
    else if (moved && point !== null) this.lab.endMove();
    else if (!moved && point === null) this.clicked(event);
    else if (!moved) this.points.dots[point]?.focus({ preventScroll: true });
  }

  letGo() {
    const { held } = this;
    this.held = null;
    if (held?.handle) held.handle.held = false;
    return held;
  }

  clicked(event) {
    if (this.lab.descends) this.startFrom(this.spot(event), false);
    else this.lab.addPoint(this.rounded(this.scale.back(...this.spot(event))));
  }

  menu(event) {
    const dot = event.target.closest(".dot");
    if (!dot) return;
    event.preventDefault();
    this.lab.deletePoint(Number(dot.dataset.point));
  }

  // The same, on a line of the grid that is near.
  snapped(point) {
    const units = [this.scale.unit, this.scale.unitY];
    return this.rounded(point).map((value, axis) => (
      this.lines[axis].find((line) => Math.abs(line - value) * units[axis] < NEAR) ?? value));
  }

  // Coordinates with as many digits as pixels distinguish.
  rounded(point) {
    const digits = [this.scale.unit, this.scale.unitY].map((unit) => (
      Math.min(6, Math.max(0, Math.ceil(Math.log10(unit))))));
    return point.map((value, axis) => Number(value.toFixed(digits[axis])));
  }
}
