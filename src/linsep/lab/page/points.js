// The points of the plane: marks that are dragged, moved by keys, relabeled and deleted.

import { makeSvg, set } from "./dom.js";
import { short } from "../engine/numbers.js";
import { stepOf } from "./handle.js";
import { mark } from "./looks.js";

//: up to so many points all have their number beside them, else only the point of this step
const NUMBERED = 12;

export class Points {
  constructor(plane) {
    this.plane = plane;
    this.lab = plane.lab;
    this.marks = makeSvg("g");
    this.top = makeSvg("text", { class: "number top", "aria-hidden": "true" }); // of this step's point
    this.node = makeSvg("g", { class: "points" }, this.marks, this.top);
    this.dots = [];
  }

  // Where the points are drawn: a logistic curve runs between the heights of its classes.
  places() {
    const { points, settings } = this.lab.latest();
    return points.map(([x, y, code]) => [x, settings.room === "curve" ? code : y]);
  }

  // A point stays the element that it is, unless its class changes.
  draw() {
    const { points } = this.lab.scene;
    const size = (points.length > NUMBERED ? 6 : 8) * this.lab.stage.times;
    this.size = size;
    const focused = document.activeElement?.dataset?.point;
    this.node.classList.toggle("few", points.length <= NUMBERED);
    this.dots.splice(points.length).forEach((dot) => dot.remove());
    const places = this.places();
    points.forEach(([x, y, code], j) => {
      const look = `${code} ${size}`;
      if (this.dots[j]?.dataset.look !== look) {
        const dot = this.newDot(j, code, size);
        dot.dataset.look = look;
        if (this.dots[j]) this.dots[j].replaceWith(dot); else this.marks.append(dot);
        this.dots[j] = dot;
        if (focused === String(j)) dot.focus({ preventScroll: true });
      }
      set(this.dots[j], { transform: `translate(${this.plane.scale.point(places[j] ?? [x, y])})`,
        "aria-label": `Point ${j + 1} at ${short(x)}, ${short(y)}, class ${this.lab.classNames[code]}` });
    });
    this.showSelected();
  }

  newDot(j, code, size) {
    const ring = (name, r) => makeSvg("circle", { class: name, r });
    const dot = makeSvg("g", { class: "dot", tabindex: "0", role: "button", "data-point": j,
      "data-class": code }, ring("touch", size + 9), ring("halo", size + 12),
    ring("wrong-ring", size + 3), mark(code, 0, 0, size),
    makeSvg("text", { class: "number", x: size + 7, y: -size - 4 }, j + 1));
    dot.addEventListener("keydown", (event) => this.key(event, j));
    dot.addEventListener("focus", () => this.lab.select(j));
    return dot;
  }

  showSelected() {
    this.dots.forEach((dot, j) => dot.classList.toggle("selected", j === this.lab.selected));
  }

  // Rings around points that are not on their side, and the point of this step; returns how many
  // have a ring.
  show(wrong, visited) {
    this.top.textContent = visited < 0 ? "" : String(visited + 1);
    if (visited >= 0) {
      const [x, y] = this.plane.scale.point(this.places()[visited]);
      const { times } = this.lab.stage;
      const left = x > this.plane.width - 50 * times; // where the other side is cut
      set(this.top, { x: x + (left ? -1 : 1) * (this.size + 7), y: Math.max(16 * times, y - this.size - 4),
        "text-anchor": left ? "end" : "start" });
    }
    this.dots.forEach(({ classList }, j) => {
      classList.toggle("wrong", wrong[j]);
      classList.toggle("visited", j === visited);
    });
    return wrong.filter(Boolean).length;
  }

  key(event, j) {
    const step = stepOf(event);
    const place = this.places()[j];
    const { scale } = this.plane;
    if (step) {
      if (!place) return;
      this.lab.movePoint(j, this.plane.rounded([place[0] + step[0] / scale.unit,
        place[1] + step[1] / scale.unitY]));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.lab.deletePoint(j);
    } else if (event.key === "Escape") {
      event.target.blur();
      this.lab.select(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
