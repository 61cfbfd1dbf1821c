// Proofs: the verdict with its rows, and the mistakes so far against their bounds.

import { make } from "./dom.js";
import { short } from "../engine/numbers.js";

const SIGNS = { separable: "\u2713", overlapping: "\u2717", "quasi-separable": "\u2717",
  undecided: "?" };

export class Proof {
  constructor(lab) {
    this.lab = lab;
    this.verdict = make("div", { class: "verdict", id: "verdict", "aria-live": "polite" });
    this.kernel = make("div", { class: "verdict", id: "kernel-verdict", "aria-live": "polite" });
    this.head = make("h2");
    this.kernelHead = make("h2", {}, "Can a curve of this kernel separate the classes?");
    this.bounds = make("div", { class: "bounds" });
    this.widest = make("p", { id: "widest" });
    this.cycle = make("p", { class: "cycle" });
    this.node = make("section", { class: "card proof", "aria-label": "Proof" },
      this.head, this.verdict, this.kernelHead, this.kernel,
      this.cycle, make("h2", {}, "Mistakes and their bounds"), this.bounds, this.widest);
  }

  scene() {
    const { proof, run } = this.lab;
    this.node.classList.toggle("waiting", Boolean(run) && !proof);
    this.head.textContent = run?.present.length > 2 ? "Can the classes be separated?"
      : "Can a line separate the classes?";
    this.cycle.textContent = run?.cycle
      ? `The weights before step ${run.cycle[0] + 1} recurred after step ${run.cycle[1]}: `
        + "from here everything repeats." : "";
    if (!run) {
      this.verdict.replaceChildren(make("p", {}, this.lab.idle));
      this.bounds.replaceChildren();
      this.counts = null;
      this.draw(this.kernel, null);
      this.widest.textContent = "";
      return;
    }
    if (!proof) return;
    this.draw(this.verdict, proof.verdict);
    this.draw(this.kernel, proof.kernel);
    this.drawBounds();
  }

  draw(node, verdict) {
    if (node === this.kernel) this.kernelHead.classList.toggle("hidden", !verdict);
    node.className = `verdict ${verdict?.kind ?? "hidden"}`;
    node.replaceChildren(...(verdict ? [
      make("p", { class: "title" }, make("span", { class: "sign", "aria-hidden": "true" },
        SIGNS[verdict.kind]), verdict.title),
      ...verdict.sentences.map((text) => make("p", {}, text))] : []));
  }

  drawBounds() {
    const { bounds, unbounded } = this.lab.proof;
    this.counts = bounds.map((bound) => {
      const most = Math.floor(bound.value);
      const bar = make("div", { class: "fill" });
      const count = make("span", { class: "count" });
      return { most, what: bound.what, bar, count, node: make("div", { class: "bound" },
        make("div", { class: "name" }, make("b", {}, bound.name), make("small", {}, bound.about)),
        make("div", { class: "bar", "aria-hidden": "true" }, bar), count) };
    });
    this.bounds.replaceChildren(...this.counts.map(({ node }) => node),
      ...(unbounded ? [make("p", {}, unbounded)] : []));
    this.at(this.lab.at);
  }

  // No line has a wider margin than the length of the weights over the mistakes.
  showWidest(t) {
    const { run, proof: { widest } } = this.lab;
    const mistakes = run.madeMistakes[t];
    if (!widest || !mistakes) { this.widest.textContent = ""; return; }
    const [b, ...w] = run.weightsAt(t);
    const most = Math.hypot(...w, widest.intercept ? b : 0) / (widest.rate * mistakes);
    this.widest.textContent = `So far: no ${widest.intercept ? "line" : "line through 0"} has a margin above `
      + `‖w‖/M = ${short(most)}${widest.intercept ? ", for points (1, x1, x2)" : ""}${
        widest.margin ? `; the widest is ${short(widest.margin)}` : ""}.`;
  }

  at(t) {
    const { run, proof } = this.lab;
    if (!run || !proof || !this.counts) return;
    for (const { most, what, bar, count } of this.counts) {
      const made = { updates: run.madeUpdates, errors: run.madeErrors,
        mistakes: run.madeMistakes }[what][t];
      bar.style.width = `${Math.min(100, (100 * made) / Math.max(1, most))}%`;
      count.textContent = `${made.toLocaleString("en")} of at most ${
        most < 1e9 ? most.toLocaleString("en") : short(most)}`;
    }
    this.showWidest(t);
  }
}
