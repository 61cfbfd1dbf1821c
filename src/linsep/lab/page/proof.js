// Proofs: the verdict with its rows, and the mistakes so far against their bounds.

import { make } from "./dom.js";
import { short } from "../engine/numbers.js";

const SIGNS = { separable: "\u2713", overlapping: "\u2717", "quasi-separable": "\u2717", undecided: "?" };
const paragraphs = (texts) => texts.filter(Boolean).map((text) => make("p", {}, text));

export class Proof {
  constructor(lab) {
    this.lab = lab;
    this.head = make("h2");
    this.verdict = make("div", { id: "verdict", "aria-live": "polite" });
    this.cycle = make("p", { class: "cycle" });
    this.bounds = make("div", { class: "bounds" });
    this.most = make("p");
    this.node = make("section", { class: "card proof", "aria-label": "Proof" }, this.head, this.verdict, this.cycle,
      make("h2", {}, "Mistakes and their bounds"), this.bounds, this.most);
  }

  scene() {
    const { proof, run, idle } = this.lab;
    const verdict = proof?.verdict;
    this.node.classList.toggle("waiting", Boolean(run) && !proof);
    this.head.textContent = run?.kernel ? "Can a curve of this kernel separate the classes?"
      : run?.present.length > 2 ? "Can the classes be separated?" : "Can a line separate the classes?";
    this.cycle.textContent = run?.cycle ? `The weights before step ${run.cycle[0] + 1} recurred after step ${run.cycle[1]}: `
      + "from here everything repeats." : "";
    if (run && !proof) return;
    this.verdict.className = `verdict ${verdict?.kind ?? ""}`;
    this.verdict.replaceChildren(...(verdict ? [make("p", { class: "title" },
      make("span", { class: "sign", "aria-hidden": "true" }, SIGNS[verdict.kind]), verdict.title)] : []),
    ...paragraphs(verdict?.sentences ?? [idle]));
    this.counts = (proof?.bounds ?? []).map((bound) => ({ ...bound, bar: make("div", { class: "fill" }), count: make("span", { class: "count" }) }));
    this.bounds.replaceChildren(...this.counts.map(({ name, about, bar, count }) => make("div", { class: "bound" },
      make("div", { class: "name" }, make("b", {}, name), make("small", {}, about)),
      make("div", { class: "bar", "aria-hidden": "true" }, bar), count)), ...paragraphs([proof?.unbounded]));
    this.at(this.lab.at);
  }

  at(t) {
    const { run, proof } = this.lab;
    if (!run || !proof) { this.most.textContent = ""; return; }
    const made = { mistakes: run.madeMistakes[t], updates: run.madeUpdates[t] };
    for (const { value, what, bar, count } of this.counts) {
      const most = Math.floor(value);
      bar.style.width = `${Math.min(100, (100 * made[what]) / Math.max(1, most))}%`;
      count.textContent = `${made[what].toLocaleString("en")} of at most ${most < 1e9 ? most.toLocaleString("en") : short(most)}`;
    }
    // No line has a wider margin than the length of the weights over the mistakes.
    const { rate, intercept } = this.lab.scene.settings;
    const length = Math.hypot(...run.weightsAt(t).slice(intercept ? 0 : 1));
    this.most.textContent = proof.bounds[0]?.what === "mistakes" && made.mistakes ? `So far: no ${intercept ? "line" : "line through 0"} has a margin `
      + `above ‖w‖/M = ${short(length / (rate * made.mistakes))}${intercept ? ", for points (1, x1, x2)" : ""}.` : "";
  }
}
