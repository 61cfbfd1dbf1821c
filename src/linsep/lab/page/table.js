// The table of the steps of a run or a descent, or of the points of a fit; only the lines in view are in
// the page, so thousands scroll smoothly.

import { make } from "./dom.js";
import { csvText, digits, minus, sixDigits } from "../engine/numbers.js";

const HEIGHT = 28;
const AROUND = 8;

export class Table {
  constructor(lab) {
    this.lab = lab;
    this.head = make("tr");
    this.body = make("tbody");
    this.box = make("div", { class: "scroll", tabindex: "0", role: "region", onscroll: () => this.fill() },
      make("table", {}, make("thead", {}, this.head), this.body));
    this.title = make("h2");
    this.caption = make("p", { "aria-live": "polite" });
    this.node = make("section", { class: "card table" }, this.title, this.caption, this.box);
  }

  scene() {
    const { run, fit, idle, descends, regression } = this.lab;
    this.first = -1;
    this.names = run ? this.columnsOf(run) : fit?.columns ?? [];
    this.count = run ? run.rounds : fit?.rows.length ?? 0;
    this.title.textContent = !regression || descends ? "Steps" : "Points";
    this.node.setAttribute("aria-label", regression ? "Points and residuals" : "All steps");
    this.box.setAttribute("aria-label", `Table of ${this.title.textContent.toLowerCase()}`);
    this.caption.textContent = run || fit ? "" : idle;
    this.head.replaceChildren(...this.names.map((name) => make("th", { scope: "col" }, name)));
    this.box.classList.toggle("empty", !this.count);
    this.fill();
  }

  columnsOf(run) {
    const heads = run.vectors.length ? run.vectors.map((name) => `${name} `) : [""];
    return ["step", "pass", "point", "class", ...heads.map((head) => `${head}score`),
      ...(run.margins.length ? ["margin", "needed"] : []), "mistake",
      ...(run.kernel ? [] : heads.flatMap((head) => ["b", "w1", "w2"].map((w) => head + w)))];
  }

  // The texts of a line; `text` spells its numbers.
  cells(k, text = (x) => digits(x)) {
    const { run, fit, scene, classNames } = this.lab;
    if (fit) return fit.rows[k].map((value) => (typeof value === "number" ? text(value) : minus(value)));
    const row = run.row[k];
    return [k + 1, run.pass[k], row + 1, minus(classNames[scene.points[row][2]]), ...run.scoresBefore(k).map(text),
      ...(run.margins[k] ?? []).map(text), run.mistakes[k] ? (run.nVectors > 1 ? run.mistakes[k] : "yes") : "",
      ...(run.kernel ? [] : run.allWeightsAt(k + 1).flat().map(text))].map(String);
  }

  // The table to save as CSV with all digits, or as Markdown or LaTeX with six.
  text(format) {
    const shown = format === "csv" ? String : sixDigits;
    const lines = [this.names, ...Array.from({ length: this.count }, (_, k) => this.cells(k, shown))]
      .map((cells) => cells.map((cell) => cell.replace("\u2212", "-")));
    if (format === "csv") return csvText(lines);
    const [head, ...rows] = lines.map(format === "markdown"
      ? (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`
      : (cells) => `${cells.map((cell) => cell.replace(/[#$%&_{}]/g, "\\$&")).join(" & ")} \\\\\n`);
    return format === "markdown" ? `${head}|${" ---: |".repeat(this.names.length)}\n${rows.join("")}`
      : `\\begin{tabular}{${"r".repeat(this.names.length)}}\n${head}\\hline\n${rows.join("")}\\end{tabular}\n`;
  }

  fill() {
    const first = Math.max(0, Math.min(this.count - 1, Math.floor(this.box.scrollTop / HEIGHT)) - AROUND);
    if (first !== this.first) {
      this.first = first;
      const last = Math.min(this.count, first + Math.ceil((this.box.clientHeight || 300) / HEIGHT) + 2 * AROUND);
      const lines = Array.from({ length: last - first }, (_, k) => this.line(first + k));
      this.body.replaceChildren(...this.space(first), ...lines, ...this.space(this.count - last));
    }
    for (const line of this.body.children) line.classList.toggle("now", line.dataset.at === String(this.lab.at));
  }

  line(k) {
    const { run, descends } = this.lab;
    const at = run ? k + 1 : k;
    return make("tr", { "data-at": run || descends ? at : null, class: run?.mistakes[k] ? "wrong" : "", onclick: () => this.lab.goTo(at) },
      ...this.cells(k).map((text) => make("td", {}, text)));
  }

  space(count) {
    return count > 0 ? [make("tr", { "aria-hidden": "true" },
      make("td", { colspan: this.names.length, class: "space", style: `height:${count * HEIGHT}px` }))] : [];
  }

  at(t) {
    if (!this.lab.rounds) return;
    // While the run is played a few lines a second are enough to follow it.
    const now = performance.now();
    if (this.lab.clock.playing && now - (this.filled ?? 0) < 150) return;
    this.filled = now;
    const top = Math.max(0, this.lab.run ? t - 1 : t) * HEIGHT;
    const height = this.box.clientHeight;
    if (height && (top < this.box.scrollTop || top > this.box.scrollTop + height - 3 * HEIGHT)) this.box.scrollTop = Math.max(0, top - height / 2);
    this.fill();
  }
}
