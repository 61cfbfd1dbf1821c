// Time: step, step back, play, the next mistake, the end, and a slider over all positions.

import { make } from "./dom.js";

const SPEEDS = [["1 per second", 1], ["2 per second", 2], ["5 per second", 5], ["30 per second", 30],
  ["200 per second", 200], ["1,000 per second", 1000]];
//: a run of at most so many steps is played slowly enough to read each step
const SHORT = 60;

export class Clock {
  constructor(lab) {
    this.lab = lab;
    this.playing = false;
    const button = (label, sign, action) => make("button", { type: "button", "aria-label": label,
      title: label, onclick: action }, sign);
    this.play = make("button", { type: "button", class: "play", onclick: () => this.toggle() });
    this.slider = make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Step number",
      oninput: () => { this.pause(); this.lab.goTo(Number(this.slider.value)); } });
    this.speed = make("select", { "aria-label": "Speed" },
      ...SPEEDS.map(([text, value]) => make("option", { value }, text)));
    this.counts = make("div", { class: "counts" });
    this.numbers = Object.fromEntries(["round", "pass", "mistakes", "updates"].map((name) => {
      const number = make("b", { id: `count-${name}` }, "0");
      this.counts.append(make("span", { class: name === "round" ? "" : "of-run" },
        make("small", {}, name === "round" ? "step" : name), number));
      return [name, number];
    }));
    this.step = make("button", { type: "button", class: "step", title: "Step (\u2192)",
      onclick: () => this.go((t) => t + 1) }, "Step");
    this.main = make("div", { class: "main-buttons" }, this.step, this.play);
    this.node = make("div", { class: "clock card", role: "group", "aria-label": "Time" },
      make("div", { class: "buttons" },
        button("To the start", "|\u25C2", () => this.go(() => 0)),
        button("Step back", "\u25C2", () => this.go((t) => t - 1)),
        this.mistake = button("Next mistake", "\u2717 \u25B8", () => this.nextMistake()),
        button("To the end", "\u25B8|", () => this.go(() => this.lab.rounds))),
      this.slider, make("label", { class: "speed" }, "steps ", this.speed), this.counts);
    this.mistake.classList.add("of-run");
    this.show();
  }

  go(where) { this.pause(); this.lab.goTo(where(this.lab.at)); }

  nextMistake() { this.go((t) => (this.lab.run ? this.lab.run.nextMistake(t) : t)); }

  toggle() {
    if (this.playing) { this.pause(); return; }
    if (!this.lab.rounds) return;
    if (this.lab.at >= this.lab.rounds) this.lab.goTo(0);
    this.playing = true;
    this.show();
    let before = null;
    let left = 0;
    const frame = (now) => {
      if (!this.playing) return;
      left += before === null ? 0 : ((now - before) / 1000) * Number(this.speed.value);
      before = now;
      const whole = Math.floor(left);
      if (whole) {
        left -= whole;
        this.lab.goTo(Math.min(this.lab.rounds, this.lab.at + whole));
      }
      if (this.lab.at >= this.lab.rounds) this.pause();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.show();
    this.lab.goTo(this.lab.at);
  }

  show() {
    this.play.textContent = this.playing ? "\u275A\u275A Pause" : "\u25B6 Play";
    this.play.setAttribute("aria-pressed", String(this.playing));
  }

  pace() { this.speed.value = this.lab.rounds <= SHORT ? 2 : 30; }

  scene() {
    this.slider.max = this.lab.rounds;
    this.node.classList.toggle("idle", !this.lab.rounds);
  }

  at(t) {
    const { run } = this.lab;
    this.slider.value = t;
    this.step.disabled = t >= this.lab.rounds;
    const pass = run && t ? run.pass[t - 1] : 0;
    this.slider.setAttribute("aria-valuetext",
      `step ${t} of ${this.lab.rounds}${this.lab.descends ? "" : `, pass ${pass}`}`);
    const now = { round: t, pass, mistakes: run?.madeMistakes[t] ?? 0, updates: run?.madeUpdates[t] ?? 0 };
    for (const [name, count] of Object.entries(now)) this.numbers[name].textContent = count.toLocaleString("en");
  }
}
