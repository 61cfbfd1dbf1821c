// A lesson: a column of text whose steps set the scene, ask, and judge before they show the answer.

import { make } from "./dom.js";
import { minus } from "../engine/numbers.js";
import { hexOf, sha256 } from "../engine/sha256.js";

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth"];

export class Lesson {
  constructor(lab) {
    Object.assign(this, { lab, lesson: null, step: 0, asks: false, tries: new Map() });
    this.menu = make("select", { "aria-label": "Lesson", onchange: () => this.open(this.menu.value, 0, true) });
    this.title = make("h2");
    this.place = make("small", { id: "lesson-step" });
    this.body = make("div", { class: "text", id: "lesson-text" });
    const button = (text, by) => make("button", { type: "button", onclick: () => this.go(this.step + by, true) }, text);
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

  // Follow the URL, ?lesson=NAME&step=2, without changing its scene.
  async follow() {
    const query = new URLSearchParams(location.search);
    const [name, step] = [query.get("lesson") ?? "", Math.max(0, (Number(query.get("step")) || 1) - 1)];
    if (name !== (this.lesson?.name ?? "")) await this.open(name, step, false);
    else if (this.lesson && !location.hash) await this.go(step, false);
    else if (this.lesson && step !== this.step) this.draw(step);
  }

  // Open a lesson, or none; `goes` changes the URL, too.
  async open(name, step, goes) {
    const { lesson, fault } = name ? await this.lab.ask("lesson", { name }) : { lesson: null };
    if (fault) { this.lab.fail(fault); return; }
    if (name !== this.lesson?.name) this.tries = new Map();
    this.lesson = lesson;
    if (!lesson && goes) this.remember(location.hash);
    if (lesson && (goes || !location.hash)) await this.go(step, goes);
    else this.draw(step);
  }

  async go(step, pushes) {
    this.draw(step);
    const { url, more } = this.lesson.steps[this.step];
    this.remember(`#${url}`, pushes);
    await this.lab.show("open", { url }, { at: null, fit: true, edits: false });
    if (more) this.lab.showMore(true);
  }

  remember(hash, pushes = true) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of [["lesson", this.lesson?.name], ["step", this.step + 1]]) {
      if (this.lesson) query.set(name, value); else query.delete(name);
    }
    history[pushes ? "pushState" : "replaceState"](null, "", `${location.pathname}${query.size ? `?${query}` : ""}${hash}`);
  }

  draw(step) {
    const { lesson, lab } = this;
    this.column.classList.toggle("hidden", !lesson);
    lab.node.classList.toggle("with-lesson", Boolean(lesson));
    this.menu.value = lesson?.name ?? "";
    const last = (lesson?.steps.length ?? 1) - 1;
    this.step = Math.max(0, Math.min(step, last));
    const { title, body } = lesson?.steps[this.step] ?? { title: "", body: [] };
    this.ask(body.some(({ kind }) => kind === "answer"));
    this.title.textContent = title;
    this.place.textContent = lesson ? `${lesson.title} \u00B7 ${this.step + 1} of ${last + 1}` : "";
    this.body.replaceChildren(...body.map((block) => this.block(block)), ...(this.step === last ? this.finish() : []));
    this.back.disabled = this.step === 0;
    this.next.disabled = this.step === last;
    this.column.scrollIntoView?.({ block: "nearest" });
  }

  // While a question is open, the page hides its answer: proof, counts, rings, tables.
  ask(open) {
    this.asks = open;
    this.lab.node.classList.toggle("asking", open);
  }

  reveal() { this.column.querySelector("details.answer")?.setAttribute("open", ""); }

  block({ kind, pieces }) {
    const text = make("p", {}, ...pieces.map(([style, piece]) => (style ? make(style, {}, piece) : piece)));
    return kind === "text" ? text : this.answer(text);
  }

  // At the end a code that a teacher can check: the lesson, the student, and answers right at first.
  finish() {
    const asked = this.lesson?.steps.filter((one) => one.asked).length;
    if (!asked) return [];
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
      const last = this.lab.scene.points.length;
      if (!numbers.length || numbers.some((n) => !(n >= 1 && n <= last))) return `Answer with numbers of points, from 1 to ${last}.`;
      const [more, missing] = [numbers.filter((n) => !right.includes(n)), right.filter((n) => !numbers.includes(n))];
      return more.length ? `Not point ${more[0]}.` : missing.length ? `${missing.length} more.` : "";
    }
    if (numbers.length !== right.length) return `Give ${right.length} number${right.length > 1 ? "s" : ""}.`;
    const bad = right.findIndex((n, k) => Math.abs(numbers[k] - n) > 0.005 * Math.max(1, Math.abs(n)));
    const which = right.length > 1 ? `The ${ORDINALS[bad] ?? `${bad + 1}th`} number, ${numbers[bad]},` : numbers[bad];
    return bad < 0 ? "" : minus(`${which} is too ${numbers[bad] > right[bad] ? "large" : "small"}.`);
  }

  // The answer, shown next to the student's, or on request.
  answer(text) {
    const { asked } = this.lesson.steps[this.step];
    const [mine, said] = [make("p", { class: "mine" }), make("p", { class: "judged", role: "status" })];
    const shown = make("details", { class: "answer", ontoggle: () => {
      if (!shown.open) return;
      if (!this.tries.has(this.step)) this.tries.set(this.step, false); // shown before it was answered
      this.ask(false);
    } },
      make("summary", {}, "Show the answer"), mine, text);
    const field = make("input", { type: "text", "aria-label": "Your answer", autocomplete: "off", placeholder: "Your answer" });
    const chosen = (asked?.choices ?? []).map((choice, k) => make("label", { class: "check" },
      make("input", { type: "radio", name: "choice", value: k, onchange: () => { field.value = k; } }), choice));
    return make("form", { class: "asked", onsubmit: (event) => {
      event.preventDefault();
      if (!field.value.trim()) { field.focus(); return; }
      const wrong = asked ? this.judged(asked, field.value) : "";
      if (asked) {
        if (!this.tries.has(this.step)) this.tries.set(this.step, !wrong);
        said.textContent = wrong || "Right.";
        said.className = `judged ${wrong ? "wrong" : "right"}`;
      }
      if (wrong) return;
      mine.textContent = `Your answer: ${chosen.length ? asked.choices[field.value] : field.value.trim()}`;
      shown.open = true;
    } }, ...chosen, make("div", { class: "row" }, ...(chosen.length ? [] : [field]), make("button", { type: "submit" }, "Answer")), said, shown);
  }
}
