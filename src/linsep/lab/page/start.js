// The initial weights as an arrow, which can be dragged before the first step.

import { makeSvg, set } from "./dom.js";
import { short } from "../engine/numbers.js";
import { Handle } from "./handle.js";

// Whether the learner takes initial weights, which the pictures then change.
export function startable({ fields, scene }) {
  const start = fields.find((field) => field.name === "start");
  return Boolean(start?.usedBy.includes(scene.settings.learner));
}

export class StartArrow {
  constructor(plane) {
    this.plane = plane;
    this.tip = new Handle("tip", "Initial weights", (pixels, dragged) => this.turn(pixels, dragged));
    this.tip.node.append(makeSvg("text", { class: "number", x: 12, y: 5 }, "initial weights: drag"));
    this.node = this.tip.node;
  }

  // Show the arrow at step 0, from the line's foot; returns whether it is shown.
  at(t, found) {
    const { lab, width, height, scale, box } = this.plane;
    const { run, scene } = lab;
    const shown = run && t === 0 && run.nVectors === 1 && startable(lab);
    if (!shown) { this.tip.hide(); return false; }
    if (!this.tip.held) {
      const [, ...w] = run.weightsAt(0);
      const size = Math.hypot(...w);
      const middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
      this.foot = scene.settings.intercept ? found?.foot ?? middle : [0, 0];
      const long = size && Math.max(24, Math.min(size * scale.unit, 0.4 * Math.min(width, height)));
      this.ratio = size ? size / long : 1 / scale.unit;
      const [x, y] = scale.point(this.foot);
      this.tip.show(size ? [x + (w[0] * long) / size, y - (w[1] * long) / size] : [x, y],
        `Initial weights ${w.map((value) => short(value)).join(", ")}: drag the arrow, or move it with the arrow keys`);
    }
    const [x1, y1] = scale.point(this.foot);
    const [x2, y2] = this.tip.at;
    const { normal } = this.plane.parts;
    normal.style.display = Math.hypot(x2 - x1, y2 - y1) > 1 ? "" : "none";
    set(normal, { x1, y1, x2, y2 });
    return true;
  }

  // The line goes through the foot of the arrow; without an intercept this is 0.
  turn(pixels, dragged) {
    const [x, y] = this.plane.scale.point(this.foot);
    const w = [pixels[0] - x, y - pixels[1]].map((way) => Number((way * this.ratio).toPrecision(3)));
    const { intercept } = this.plane.lab.scene.settings;
    const b = intercept ? -(w[0] * this.foot[0] + w[1] * this.foot[1]) : 0;
    this.plane.lab.changeSetting("start", [Number(b.toPrecision(4)), ...w], { final: !dragged });
  }
}
