// A descent: its path up to the step that is shown, the path ahead, and the effect of a step.

import { makeSvg, set } from "./dom.js";
import { digits, short, vector } from "../engine/numbers.js";

//: how far from the picture a place is drawn, in its sizes
const FAR = 20;

export class Descent {
  constructor(plane) {
    this.plane = plane;
    const line = (name) => makeSvg("polyline", { class: name });
    this.ahead = line("ahead");
    this.path = line("descent");
    this.last = makeSvg("circle", { class: "iterate last" });
    this.dot = makeSvg("marker", { id: "lab-step", viewBox: "-4 -4 8 8",
      markerUnits: "userSpaceOnUse" }, makeSvg("circle", { class: "iterate", r: 3 }));
    set(this.path, { "marker-mid": "url(#lab-step)", "marker-start": "url(#lab-step)" });
    this.node = makeSvg("g", { class: "path-of-descent" }, makeSvg("defs", {}, this.dot),
      this.ahead, this.path, this.last);
  }

  scene() {
    const { lab, scale } = this.plane;
    this.node.style.display = lab.descends ? "" : "none";
    if (!lab.descends) return;
    const near = (pixel, size) => Math.max(-FAR * size, Math.min(FAR * size, pixel));
    this.places = lab.fit.rows.map(([, ...place]) => {
      const [x, y] = scale.point(place);
      return [near(x, scale.width), near(y, scale.height)];
    });
    this.texts = this.places.map(String);
    set(this.ahead, { points: this.texts.join(" ") });
    const wide = 8 * lab.stage.times;
    set(this.dot, { markerWidth: wide, markerHeight: wide });
    set(this.last, { r: 0.75 * wide });
  }

  at(t) {
    if (!this.plane.lab.descends || !this.places) return;
    set(this.path, { points: this.texts.slice(0, t + 1).join(" ") });
    const [cx, cy] = this.places[Math.min(t, this.places.length - 1)];
    set(this.last, { cx, cy });
  }
}

export function toldStep({ fit, rounds }, t) {
  const [, x, y, J] = fit.rows[t];
  if (!t) {
    return `Press Step: the ${fit.up ? "ascent" : "descent"} starts at ${vector([x, y])}, where J = ${
      digits(J)}, and moves ${fit.up ? "along" : "against"} the gradient.`;
  }
  const [[, u, v, before], rate] = [fit.rows[t - 1], fit.rates[t - 1]];
  const [, r, s] = fit.rows[Math.max(0, t - 2)];
  const turned = (x - u) * (u - r) + (y - v) * (v - s) < 0;
  const gradient = [x - u, y - v].map((way) => (fit.up ? way : -way) / rate);
  const said = [`Step ${t.toLocaleString("en")}${turned ? " reversed direction" : ""}:`,
    `[${fit.axes.join(",\u00A0")}] =`, vector([u, v]), fit.up ? "+" : "\u2212", short(rate), "\u00D7",
    vector(gradient), "=", `${vector([x, y])};`, "J", ...(J === before ? ["stays"]
      : [J < before ? "falls" : "rises", "from", digits(before), "to"]), digits(J)];
  const worse = fit.up ? J < before : J > before;
  return `${said.join(" ")}${worse ? ": the step was too long" : ""}.${
    t === rounds ? ` ${fit.sentences[0]}` : ""}`;
}
