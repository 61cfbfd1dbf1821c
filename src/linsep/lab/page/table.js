// The table of steps; only the lines in view are in the page, so thousands scroll smoothly.

import { make } from "./dom.js";
import { minus, sixDigits, short } from "../engine/numbers.js";

const HEIGHT = 28;
const AROUND = 8;

export class Table {
  constructor(lab) {
    this.lab = lab;
    this.head = make("tr");
    this.body = make("tbody");
    this.box = make("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-label": "Table of steps", onscroll: () => this.fill() },
    make("table", {}, make("thead", {}, this.head), this.body));
    this.caption = make("p", { class: "stopped", "aria-live": "polite" });
    this.node = make("section", { class: "card table rounds", "aria-label": "All steps" },
      make("h2", {}, "Steps"), this.caption, this.box);
  }

  scene() {
    const { run, scene } = this.lab;
    this.first = -1;
    this.names = ["step", "pass", "point", "class"];
    if (run) {
      const heads = run.vectors.length ? run.vectors.map((name) => `${name} `) : [""];
      this.names.push(...heads.map((head) => `${head}score`),
        ...(run.margins.length ? ["margin", "needed"] : []), "mistake");
      if (!run.kernel) {
        heads.forEach((head) => this.names.push(...["b", "w1", "w2"].map((w) => head + w)));
      }
    }
    this.head.replaceChildren(...this.names.map((name) => make("th", { scope: "col" }, name)));
    this.box.classList.toggle("empty", !run);
    this.labels = scene.points.map((point) => this.lab.classNames[point[2]]);
    this.fill();
  }

  cells(round, text = (x) => minus(short(x))) {
    const { run } = this.lab;
    const n = run.nVectors;
    const row = run.row[round];
    const cells = [round + 1, run.pass[round], row + 1, minus(this.labels[row])];
    for (let v = 0; v < n; v += 1) cells.push(text(run.scores[round * n + v]));
    cells.push(...(run.margins[round] ?? []).map(text));
    cells.push(run.mistakes[round] ? (n > 1 ? run.mistakes[round] : "yes") : "");
    if (!run.kernel) {
      run.allWeightsAt(round + 1).forEach((weights) => {
        cells.push(...weights.map(text));
      });
    }
    return cells.map(String);
  }

  // The table to save as CSV with all digits, or as Markdown or LaTeX with six.
  text(format) {
    const shown = format === "csv" ? String : sixDigits;
    const { run, fit } = this.lab;
    const text = (value) => (typeof value === "number" ? shown(value) : value);
    const [head, ...rows] = (run ? [this.names, ...Array.from({ length: run.rounds }, (_, k) => this.cells(k, shown))]
      : [fit.columns, ...fit.rows.map((row) => row.map(text))]).map((cells) => cells.map((cell) => cell.replace("\u2212", "-")));
    if (format === "csv") {
      const quoted = (cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
      return [head, ...rows].map((cells) => `${cells.map(quoted).join(",")}\n`).join("");
    }
    if (format === "markdown") {
      const row = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
      return row(head) + row(head.map(() => "---:")) + rows.map(row).join("");
    }
    const row = (cells) => `${cells.map((cell) => cell.replace(/[#$%&_{}]/g, "\\$&")).join(" & ")} \\\\\n`;
    return `\\begin{tabular}{${"r".repeat(head.length)}}\n${row(head)}\\hline\n${rows.map(row).join("")}`
      + "\\end{tabular}\n";
  }

  fill() {
    const { run } = this.lab;
    if (!run) { this.body.replaceChildren(); return; }
    const seen = Math.ceil((this.box.clientHeight || 300) / HEIGHT);
    const first = Math.max(0, Math.min(run.rounds - 1,
      Math.floor(this.box.scrollTop / HEIGHT)) - AROUND);
    if (first === this.first && this.body.childElementCount) { this.mark(); return; }
    this.first = first;
    const last = Math.min(run.rounds, first + seen + 2 * AROUND);
    const lines = [this.space(first)];
    for (let round = first; round < last; round += 1) {
      lines.push(make("tr", { "data-round": round + 1, class: run.mistakes[round] ? "wrong" : "",
        onclick: () => this.lab.goTo(round + 1) },
      ...this.cells(round).map((text) => make("td", {}, text))));
    }
    lines.push(this.space(run.rounds - last));
    this.body.replaceChildren(...lines);
    this.mark();
  }

  space(count) {
    return make("tr", { "aria-hidden": "true" },
      make("td", { colspan: this.names.length, class: "space",
        style: `height:${count * HEIGHT}px` }));
  }

  mark() {
    const { at } = this.lab;
    for (const line of this.body.children) {
      const here = Number(line.dataset.round) === at;
      if (line.classList.contains("now") !== here) {
        line.classList.toggle("now", here);
        if (here) line.setAttribute("aria-current", "true");
        else line.removeAttribute("aria-current");
      }
    }
  }

  at(t) {
    const { run, idle } = this.lab;
    // The reason why the run ends is shown at its end.
    this.caption.textContent = run ? t === run.rounds && run.stopped || "\u00A0" : idle;
    if (!run) return;
    // While the run is played a few lines a second are enough to follow it.
    const now = performance.now();
    if (this.lab.clock.playing && now - (this.filled ?? 0) < 150) return;
    this.filled = now;
    const top = Math.max(0, t - 1) * HEIGHT;
    const height = this.box.clientHeight;
    if (height && (top < this.box.scrollTop || top > this.box.scrollTop + height - 3 * HEIGHT)) {
      this.box.scrollTop = Math.max(0, top - height / 2);
    }
    this.fill();
  }
}
