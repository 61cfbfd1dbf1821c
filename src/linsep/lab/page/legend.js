// What the marks of the plane mean, and how many points have a ring.

import { make, makeSvg } from "./dom.js";
import { minus } from "../engine/numbers.js";
import { COLOR_NAMES, classColor, mark } from "./looks.js";

//: marks that are drawn at some steps only: their name, their sign, and what it means
const AT_TIMES = [
  ["band", ["rect", { class: "band", x: 1, y: 4, width: 20, height: 10 }], "dashed band: margin"],
  ["close", ["rect", { class: "band", x: 1, y: 4, width: 20, height: 10 }], "dashed band: margins below gamma/2"],
  ["normal", ["path", { class: "normal", d: "M2,14L16,6M10,5L17,5.5L13.5,11.5", fill: "none" }],
    "arrow: direction of the weights"],
  ["update", ["path", { class: "update", d: "M2,14L16,6M10,5L17,5.5L13.5,11.5", fill: "none" }], "thin arrow: update"],
  ["widest", ["path", { class: "widest", d: "M1,15L21,3" }], "green dotted line: the line of widest margin"],
  ["before", ["path", { class: "before", d: "M1,15L21,3" }], "gray dotted line: before the update"],
  ["proof", ["circle", { class: "edge-of-proof", cx: 11, cy: 9, r: 6 }], "green edge: point of the proof"],
  ["meeting", ["path", { class: "meeting", d: "M6,4l10,10m0,-10l-10,10" }],
    "cross: among both classes"],
];
const sign = (...parts) => makeSvg("svg", { width: 22, height: 18, viewBox: "0 0 22 18",
  "aria-hidden": "true" }, ...parts);

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
    this.drawn = "";
    this.node.replaceChildren(...items.map(([picture, text], k) => make("li",
      { class: `of-${["ring", "line", "shade"][k - run.present.length] ?? "point"}` }, picture, text)));
  }

  // Add what is drawn at this step.
  at() {
    if (!this.lab.run) return;
    const { parts, points } = this.lab.plane;
    const drawn = (name) => parts[name].style.display !== "none";
    const band = parts.band.getAttribute("points") && (parts.band.classList.contains("close") ? "close" : "band");
    const seen = { [band]: true, normal: drawn("normal"), update: drawn("update"), before: drawn("before"), widest: drawn("widest"),
      meeting: parts.witness.querySelector(".meeting"),
      proof: points.dots.some((dot) => dot.classList.contains("proof")) };
    const now = AT_TIMES.filter(([name]) => seen[name]);
    if (String(now) === this.drawn) return;
    this.drawn = String(now);
    this.node.querySelectorAll(".at-times").forEach((item) => item.remove());
    this.node.append(...now.map(([name, [tag, look], text]) => make("li",
      { class: `at-times of-${name}` }, sign(makeSvg(tag, look)), text)));
  }
}
