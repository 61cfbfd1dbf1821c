// The loss curve: J of a descent, or the mistakes of a run, up to the step that is shown.

import { make, makeSvg, set } from "./dom.js";
import { digits } from "../engine/numbers.js";
import { Scale } from "./geometry.js";

const [WIDTH, HEIGHT] = [300, 90];

export class Loss {
  constructor(lab) {
    this.lab = lab;
    [this.ahead, this.path] = ["ahead", "so-far"].map((name) => makeSvg("polyline", { class: name }));
    this.here = makeSvg("circle", { class: "iterate last", r: 4 });
    this.says = make("figcaption");
    this.node = make("section", { class: "card loss", "aria-label": "Loss curve" }, make("h2", {}, "Loss curve"), make("figure", {},
      makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Loss curve" }, this.ahead, this.path, this.here), this.says));
  }

  scene() {
    const { run, fit, descends, rounds } = this.lab;
    this.node.classList.toggle("hidden", !rounds);
    if (!rounds) return;
    this.values = descends ? fit.rows.map((row) => row[3]) : [...run.madeMistakes];
    const finite = this.values.filter((value) => Math.abs(value) < 1e12);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const scale = new Scale([0, low, rounds, high > low ? high : low + 1], WIDTH - 12, HEIGHT - 12);
    this.places = this.values.map((value, t) => [6 + scale.x(t), 6 + scale.y(Math.max(low, Math.min(high, value)))]);
    set(this.ahead, { points: this.places.join(" ") });
  }

  at(t) {
    const { rounds, descends } = this.lab;
    if (!rounds) return;
    set(this.path, { points: this.places.slice(0, t + 1).join(" ") });
    set(this.here, { cx: this.places[t][0], cy: this.places[t][1] });
    this.says.textContent = `${descends ? "J" : "mistakes"} after step ${t.toLocaleString("en")}: ${digits(this.values[t])}`;
  }
}
