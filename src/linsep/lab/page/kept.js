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
    this.edge = makeSvg("path", { class: "kept vote" });
    this.node = makeSvg("g", { class: "kept-lines" }, this.edge, ...Object.values(this.lines));
    this.legend = make("p", { class: "legend", id: "legend" });
  }

  // Whether the run has lines of all four kinds.
  get possible() {
    const { run } = this.plane.lab;
    return Boolean(run) && !run.kernel && run.nVectors === 1;
  }

  scene(roughly = false) {
    if (roughly) return;
    const { lab, scale } = this.plane;
    const shown = this.possible && lab.shows.kept && scale;
    this.votes = shown ? this.plane.regions ?? new Regions(lab.run, lab.scene, scale, "vote") : null;
    set(this.edge, { d: "" });
    this.legend.classList.toggle("hidden", !shown);
    this.legend.replaceChildren();
  }

  at(t) {
    const { run, scene } = this.plane.lab;
    for (const [name, line] of Object.entries(this.lines)) {
      const shown = this.votes && scene.settings.keep !== name;
      this.plane.place(line, shown ? run.weightsAt(t, 0, name) : null);
    }
    if (!this.votes) return;
    set(this.edge, { transform: this.plane.scale.transform(this.votes.scale) });
    if (this.votes !== this.plane.regions) set(this.edge, { d: this.votes.paths(t).curve });
    const wrong = (elsewhere) => scene.points.filter(elsewhere).length;
    this.legend.replaceChildren(...NAMES.map((name) => {
      const count = name === "vote"
        ? wrong((_, j) => this.votes.sideOfPoint(j) !== run.codes[j])
        : wrong(([x, y], j) => run.isWrong(scoresOf([run.weightsAt(t, 0, name)], x, y), j));
      const sample = makeSvg("svg", { width: 26, height: 8, "aria-hidden": "true" },
        makeSvg("line", { class: scene.settings.keep === name ? "line" : `kept ${name}`, x1: 0, x2: 26,
          y1: 4, y2: 4 }));
      return make("span", {}, sample, ` ${name}: ${count} wrong`);
    }));
    set(this.node, { "aria-label": this.legend.textContent });
  }
}
