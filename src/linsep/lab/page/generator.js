// Generated points: a shape, how many, and how noisy, with sliders that redraw them.

import { make } from "./dom.js";

//: shapes of noise 0: the class and the place of a point at a share of the way around or along
const SHAPES = {
  clouds: (code) => [code ? 2 : -2, code ? 1 : -1],
  moons: (code, share) => [Math.cos(Math.PI * share), Math.sin(Math.PI * share)].map((v, axis) => (code ? [1, 0.5][axis] - v : v)),
  circles: (code, share) => [Math.cos(2 * Math.PI * share), Math.sin(2 * Math.PI * share)].map((v) => (code ? 0.4 : 1) * v),
};

// Numbers from 0 to 1 that a seed determines (mulberry32).
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    const more = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function generated(shape, count, noise, seed) {
  const random = randomOf(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: count }, (_, k) => {
    const code = k % 2;
    const place = SHAPES[shape](code, Math.floor(k / 2) / Math.max(1, Math.ceil(count / 2) - 1));
    return [...place.map((v) => Number((v + noise * normal()).toFixed(2)) + 0), code];
  });
}

export class Generator {
  constructor(lab) {
    const field = (name, input) => make("label", { class: "field" }, make("span", {}, name), input);
    const slider = (name, more) => make("input", { type: "range", "aria-label": name, ...more,
      oninput: () => this.draw(false), onchange: () => this.draw(true) });
    Object.assign(this, { lab, seed: 1, shape: make("select", { "aria-label": "Shape", onchange: () => this.draw(true) },
      ...Object.keys(SHAPES).map((value) => make("option", { value }, value))),
    size: slider("Number of points", { min: 4, max: 200, value: 60 }), noise: slider("Noise", { min: 0, max: 1.5, step: 0.01, value: 0.2 }) });
    this.node = make("details", { class: "own" }, make("summary", {}, "Generated points"), field("Shape", this.shape),
      field("Number of points", this.size), field("Noise", this.noise),
      make("button", { type: "button", onclick: () => { this.seed += 1; this.draw(true); } }, "Others"));
  }

  draw(final) {
    const points = generated(this.shape.value, this.size.valueAsNumber, this.noise.valueAsNumber, this.seed);
    this.lab.change({ ...this.lab.latest(), points, labels: [], features: ["x1", "x2"], name: "" }, { at: 0, fit: final, final });
  }
}
