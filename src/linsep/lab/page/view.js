// The part of the plane that is shown: all of it, or what wheel, fingers, pointer and keys chose.

import { make } from "./dom.js";
import { boxAround, boxFree, Scale } from "./geometry.js";

//: how far one may zoom out and in, in widths of the whole
const [WIDEST, NARROWEST] = [100, 1e-4];
//: factor of a key, its way in pixels, and milliseconds until the view rests
const [FACTOR, WAY, REST] = [1.25, 80, 150];

export class View {
  constructor(plane) {
    Object.assign(this, { plane, lab: plane.lab, moved: false, drawing: false });
    this.fingers = new Map();
    this.button = make("button", { type: "button", class: "show-all hidden", title: "Show all (0)",
      onclick: () => this.reset() }, "Show all");
    const { svg } = plane;
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      svg.addEventListener(end, (event) => {
        this.fingers.delete(event.pointerId);
        svg.classList.remove("panned");
      });
    }
  }

  // Show everything, or a part that was seen before.
  fit(seen = null) {
    const { scene, fit } = this.lab;
    const { room, intercept } = scene.settings;
    const { box, equal } = fit ?? {};
    const around = this.plane.points.places();
    const shape = (this.plane.width || 600) / (this.plane.height || 480);
    const framed = (part) => boxAround([part.slice(0, 2), part.slice(2)], shape, 0);
    const free = box ? !equal : ["line", "curve"].includes(room);
    if (room === "curve") around.push(...[0, 1].map((height) => [around[0]?.[0] ?? 0, height]));
    else if (around.length && !intercept) around.push([0, 0]);
    const all = free ? box ?? boxFree(around) : box ? framed(box) : boxAround(around, shape);
    this.whole = all[2] - all[0];
    this.moved = Boolean(seen);
    this.take(!seen ? all : free ? seen : framed(seen));
  }

  // The part that is shown, if it was chosen.
  get seen() { return this.moved ? this.plane.box : null; }

  take(box) {
    const { plane } = this;
    plane.box = box;
    if (plane.width) plane.scale = new Scale(box, plane.width, plane.height);
    this.button.classList.toggle("hidden", !this.moved);
  }

  reset() {
    this.fit();
    this.plane.redraw();
    this.lab.say("All is shown.");
  }

  // Look at another box; however often that happens, it is drawn once a frame, and exactly at rest.
  look(box) {
    this.moved = true;
    this.take(box);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.plane.redraw(), REST);
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => { this.drawing = false; this.plane.redraw(true); });
  }

  // Zoom by a factor; a place of the picture stays where it is.
  zoom(factor, pixels = [this.plane.width / 2, this.plane.height / 2]) {
    const { box, scale } = this.plane;
    if (!scale) return;
    const share = (box[2] - box[0]) / this.whole;
    const by = Math.max(share / WIDEST, Math.min(factor, share / NARROWEST));
    const fixed = scale.back(...pixels);
    this.look(box.map((end, k) => fixed[k % 2] + (end - fixed[k % 2]) / by));
  }

  // Move what is shown by pixels, to the right and down.
  pan(right, down) {
    const { box, scale } = this.plane;
    if (!scale) return;
    const by = [-right / scale.unit, down / scale.unitY];
    this.look(box.map((end, k) => end + by[k % 2]));
  }

  // What a key does, if it is one of the view's.
  key({ key, shiftKey }) {
    const way = shiftKey && { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1],
      ArrowDown: [0, -1] }[key];
    if (way) return () => this.pan(way[0] * WAY, way[1] * WAY);
    return { "+": () => this.zoom(FACTOR), "=": () => this.zoom(FACTOR),
      "-": () => this.zoom(1 / FACTOR), 0: () => this.reset() }[key];
  }

  // A wheel scrolls the page, unless the picture is all of it; with Ctrl, which browsers report for
  // two fingers on a touchpad as well, it zooms.
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && !this.lab.stage.on) return;
    event.preventDefault();
    const lines = event.deltaMode ? 33 : 1;
    this.zoom(1.0015 ** (-event.deltaY * lines * (event.ctrlKey ? 3 : 1)), this.plane.spot(event));
  }

  press(event) {
    if (event.button) return;
    this.fingers.set(event.pointerId, this.plane.spot(event));
    if (this.fingers.size > 1) this.plane.drop();
  }

  // One finger moves the plane if it holds no point, two zoom.
  drag(event) {
    const { fingers, plane } = this;
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    if (before.length === 1 && !plane.holdsPlane) return;
    fingers.set(event.pointerId, plane.spot(event));
    const after = [...fingers.values()];
    plane.svg.classList.add("panned");
    const middle = (places) => [0, 1].map((axis) => (
      places.reduce((sum, place) => sum + place[axis], 0) / places.length));
    const [[x, y], [u, v]] = [middle(before), middle(after)];
    this.pan(u - x, v - y);
    if (after.length < 2) return;
    const apart = ([[a, b], [c, d]]) => Math.max(1, Math.hypot(c - a, d - b));
    this.zoom(apart(after) / apart(before), [u, v]);
  }
}
