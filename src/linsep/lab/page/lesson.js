// A lesson: a column of text whose steps set the scene, ask, and judge before they show the answer.

import { make } from "./dom.js";
import { hexOf, sha256 } from "../engine/sha256.js";

export class Lesson {
  constructor(lab) {
    Object.assign(this, { lab, lesson: null, step: 0, asks: false, tries: new Map() });
    this.menu = make("select", { "aria-label": "Lesson",
      onchange: () => this.open(this.menu.value, 0, true) });
    this.title = make("h2");
    this.place = make("small", { id: "lesson-step" });
    this.body = make("div", { class: "text", id: "lesson-text" });
    const button = (text, by) => make("button", { type: "button",
      onclick: () => this.go(this.step + by, true) }, text);
    [this.back, this.next] = [button("Back", -1), button("Next", 1)];
    this.column = make("section", { class: "card lesson hidden", "aria-label": "Lesson" },
      make("div", { class: "row top" }, this.place, make("button", { type: "button",
        "aria-label": "Leave the lesson", onclick: () => this.open("", 0, true) }, "\u00D7")),
      this.title, this.body, make("div", { class: "row" }, this.back, this.next));
    this.node = make("label", { class: "field" }, make("span", {}, "Lesson"), this.menu);
  }

  start(lessons) {
    this.menu.replaceChildren(make("option", { value: "" }, "none"),
      ...lessons.map(({ name, title }) => make("option", { value: name }, title)));
  }

  // The lesson and step of the URL: ?lesson=NAME&step=2.
  asked() {
    const query = new URLSearchParams(location.search);
    return [query.get("lesson") ?? "", Math.max(0, (Number(query.get("step")) || 1) - 1)];
  }

  // Follow the URL, without changing its scene.
  async follow() {
    const [name, step] = this.asked();
    if (name !== (this.lesson?.name ?? "")) await this.open(name, step, false);
    else if (this.lesson && !location.hash) await this.go(step, false);
    else if (this.lesson && step !== this.step) { this.step = step; this.draw(); }
  }

  async open(name, step, goes) {
    if (!name) {
      this.lesson = null;
      if (goes) this.remember(location.hash);
    } else {
      const answer = await this.lab.ask("lesson", { name });
      if (answer.fault) { this.lab.fail(answer.fault); return; }
      if (this.lesson?.name !== name) this.tries = new Map();
      this.lesson = answer.lesson;
    }
    this.step = step;
    this.draw();
    if (this.lesson && (goes || !location.hash)) await this.go(step, goes);
  }

  async go(step, pushes) {
    this.step = Math.max(0, Math.min(step, this.lesson.steps.length - 1));
    this.draw();
    const { url } = this.lesson.steps[this.step];
    this.remember(`#${url}`, pushes);
    await this.lab.show("open", { url }, { at: null, fit: true, edits: false });
    if (this.lesson?.steps[this.step].more) this.lab.showMore(true);
  }

  remember(hash, pushes = true) {
    const query = new URLSearchParams(location.search);
    query.delete("lesson");
    query.delete("step");
    if (this.lesson) {
      query.set("lesson", this.lesson.name);
      query.set("step", this.step + 1);
    }
    const text = query.toString();
    const url = `${location.pathname}${text ? `?${text}` : ""}${hash}`;
    history[pushes ? "pushState" : "replaceState"](null, "", url);
  }

  draw() {
    const { lesson } = this;
    this.column.classList.toggle("hidden", !lesson);
    this.lab.node.classList.toggle("with-lesson", Boolean(lesson));
    this.menu.value = lesson?.name ?? "";
    this.ask(Boolean(lesson?.steps[Math.min(this.step, lesson.steps.length - 1)].body.some(
      ({ kind }) => kind === "answer")));
    if (!lesson) return;
    this.step = Math.min(this.step, lesson.steps.length - 1);
    const { title, body } = lesson.steps[this.step];
    this.title.textContent = title;
    this.place.textContent = `${lesson.title} \u00B7 ${this.step + 1} of ${lesson.steps.length}`;
    this.body.replaceChildren(...body.map((block) => this.block(block)), ...this.finish());
    this.back.disabled = this.step === 0;
    this.next.disabled = this.step === lesson.steps.length - 1;
    this.column.scrollIntoView?.({ block: "nearest" });
  }

  // While a question is open, the page hides its answer: proof, counts, rings, tables.
  ask(open) {
    this.asks = open;
    this.lab.node.classList.toggle("asking", open);
  }

  // Show the answer.
  reveal() {
    const answer = this.column.querySelector("details.answer");
    if (answer) answer.open = true;
  }

  block({ kind, pieces }) {
    const text = make("p", {}, ...pieces.map(([style, piece]) => (
      style ? make(style, {}, piece) : piece)));
    return kind === "text" ? text : this.answer(text);
  }

  // At the end a code that a teacher can check: the lesson, the student, and answers right at first.
  finish() {
    const asked = this.lesson.steps.filter((one) => one.asked).length;
    if (this.step < this.lesson.steps.length - 1 || !asked) return [];
    const name = make("input", { type: "text", "aria-label": "Your name", placeholder: "Your name" });
    const code = make("output", { id: "code" });
    return [make("form", { class: "asked", onsubmit: (event) => {
      event.preventDefault();
      const right = [...this.tries.values()].filter(Boolean).length;
      const said = [this.lesson.name, name.value.trim().replace(/[^\p{L}\p{N} ]/gu, "") || "nobody", right, asked].join("/");
      code.textContent = `${said}-${hexOf(sha256(new TextEncoder().encode(said))).slice(0, 6)}`;
    } }, make("div", { class: "row" }, name, make("button", { type: "submit" }, "Code for my teacher")), code)];
  }

  // What is wrong with an answer, "" if it is right.
  judged({ kind, right }, given) {
    const numbers = (given.replaceAll("\u2212", "-").match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
    if (kind === "choice") return Number(given) === right ? "" : "No: look again.";
    if (kind === "points") {
      const [more, missing] = [numbers.filter((n) => !right.includes(n)), right.filter((n) => !numbers.includes(n))];
      return more.length ? `Not point ${more[0]}.` : missing.length ? `${missing.length} more.` : "";
    }
    if (numbers.length !== right.length) return `Give ${right.length} number${right.length > 1 ? "s" : ""}.`;
    const bad = right.findIndex((n, k) => Math.abs(numbers[k] - n) > 0.005 * Math.max(1, Math.abs(n)));
    return bad < 0 ? "" : `Number ${bad + 1} is too ${numbers[bad] > right[bad] ? "large" : "small"}.`;
  }

  // The answer, shown next to the student's, or on request.
  answer(text) {
    const mine = make("p", { class: "mine" });
    const { asked } = this.lesson.steps[this.step];
    const said = make("p", { class: "judged", role: "status" });
    const shown = make("details", { class: "answer",
      ontoggle: () => { if (shown.open) this.ask(false); } },
    make("summary", {}, "Show the answer"), mine, text);
    const field = make("input", { type: "text", "aria-label": "Your answer", autocomplete: "off",
      placeholder: "Your answer" });
    const chosen = (asked?.choices ?? []).map((choice, k) => make("label", { class: "check" },
      make("input", { type: "radio", name: "choice", value: k, onchange: () => { field.value = k; } }), choice));
    return make("form", { class: "asked", onsubmit: (event) => {
      event.preventDefault();
      if (!field.value.trim()) { field.focus(); return; }
      if (asked) {
        const wrong = this.judged(asked, field.value);
        if (!this.tries.has(this.step)) this.tries.set(this.step, !wrong);
        said.textContent = wrong || "Right.";
        said.className = `judged ${wrong ? "wrong" : "right"}`;
        if (wrong) return;
      }
      mine.textContent = `Your answer: ${field.value.trim()}`;
      shown.open = true;
    } }, ...chosen, make("div", { class: "row" }, ...(chosen.length ? [] : [field]), make("button", { type: "submit" }, "Answer")), said, shown);
  }
}
