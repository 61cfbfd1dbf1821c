// All four weights to predict with at once: the last, their average, the best, and the vote.

import { make, makeSvg, set } from "./dom.js";
import { scoresOf } from "./run.js";
import { Regions } from "./regions.js";

const NAMES = ["last", "average", "best", "vote"];

export class Kept {
  constructor(plane) {
    this.plane = plane;
    this.lines = Object.fromEntries(NAMES.slice(0, 3).map((name) => (
      [name, makeSvg("line", { class: `kept ${name}` })])));
    this.node = makeSvg("g", { class: "kept-lines" }, ...Object.values(this.lines));
    this.legend = make("p", { class: "legend", id: "legend" });
  }

  // Whether the run has lines of all four kinds.
  get possible() {
    const { run } = this.plane.lab;
    return Boolean(run) && !run.kernel && run.nVectors === 1;
  }

  scene() {
    const { lab, scale, canvas } = this.plane;
    const shown = this.possible && lab.shows.kept && scale;
    const { settings } = lab.scene;
    this.votes = !shown ? null : this.plane.regions ?? new Regions(lab.run,
      { ...lab.scene, settings: { ...settings, keep: "vote" } }, scale);
    if (this.votes) canvas.style.display = "";
    else if (!this.plane.regions) canvas.style.display = "none";
    this.legend.classList.toggle("hidden", !shown);
    this.legend.replaceChildren();
  }

  at(t) {
    const { lab, canvas } = this.plane;
    const { run, scene } = lab;
    for (const [name, line] of Object.entries(this.lines)) {
      const shown = this.votes && scene.settings.keep !== name;
      this.plane.place(line, shown ? run.weightsAt(t, 0, name) : null);
    }
    if (!this.votes) return;
    const colour = getComputedStyle(this.legend).getPropertyValue("--vote").trim();
    const edge = [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16));
    const sums = this.votes === this.plane.regions ? this.votes.scores(t)
      : this.votes.draw(canvas, t, null, edge);
    const wrong = (scoreOf) => scene.points.filter((point, j) => (
      run.isMistake(scoreOf(point, j), j, "native"))).length;
    this.legend.replaceChildren(...NAMES.map((name) => {
      const count = name === "vote" ? wrong((_, j) => this.votes.scoresOfPoint(sums, j))
        : wrong(([x, y]) => scoresOf([run.weightsAt(t, 0, name)], x, y));
      const sample = makeSvg("svg", { width: 26, height: 8, "aria-hidden": "true" },
        makeSvg("line", { class: scene.settings.keep === name ? "line" : `kept ${name}`, x1: 0, x2: 26,
          y1: 4, y2: 4 }));
      return make("span", {}, sample, ` ${name}: ${count} wrong`);
    }));
    set(this.node, { "aria-label": this.legend.textContent });
  }
}
