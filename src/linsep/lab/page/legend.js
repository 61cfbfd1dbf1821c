// What the marks of the plane mean, and how many points have a ring.

import { make, makeSvg, minus } from "./dom.js";
import { COLOR_NAMES, classColor, mark } from "./looks.js";

export class Legend {
  constructor(lab) {
    this.lab = lab;
    this.node = make("ul", { class: "key", id: "key", "aria-label": "Legend" });
    // beside "More" the status below says how many
    this.tally = make("span", { class: "tally" });
    this.ring = make("span", {}, "ring: not on its side", this.tally);
  }

  scene() {
    const { run, classNames } = this.lab;
    if (!run) { this.node.replaceChildren(); return; }
    const sign = (...parts) => makeSvg("svg", { width: 22, height: 18, viewBox: "0 0 22 18",
      "aria-hidden": "true" }, ...parts);
    const items = run.present.map((code) => [mark(code, 8, 8, 6),
      `${COLOR_NAMES[code]}: class ${minus(classNames[code])}`]);
    const shades = run.present.map((code, k) => makeSvg("rect", { class: "shade", y: 1, height: 16,
      x: 1 + (20 * k) / run.present.length, width: 20 / run.present.length,
      fill: classColor(code) }));
    const curve = this.lab.plane.regions;
    items.push([sign(makeSvg("circle", { class: "ring", cx: 11, cy: 9, r: 7 })), this.ring],
      [sign(makeSvg("path", { class: "line", d: curve ? "M1,14Q11,-6 21,14" : "M1,15L21,3" })),
        run.present.length > 2 ? "line: boundary of classes" : `${curve ? "curve" : "line"}: score 0`],
      [sign(...shades), "shade: predicted class"]);
    this.node.replaceChildren(...items.map(([picture, text], k) => make("li",
      { class: `of-${["ring", "line", "shade"][k - run.present.length] ?? "point"}` }, picture, text)));
  }

  count(wrong) {
    const n = this.lab.scene.points.length;
    this.tally.textContent = ` (${wrong} of ${n})`;
  }
}
