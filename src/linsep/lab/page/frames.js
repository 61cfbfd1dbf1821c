// A run as pictures: a frame for every update, with the clock of the lab.

import { make } from "./dom.js";
import { Clock } from "./clock.js";

class Frames {
  constructor(root, { title, frames }) {
    this.frames = frames;
    this.at = 0;
    const last = frames.length - 1;
    this.rounds = last;
    const numbers = frames.map((_, k) => k);
    this.run = { rounds: last, pass: numbers, madeMistakes: numbers, madeUpdates: numbers,
      nextMistake: (t) => Math.min(last, t + 1) };
    this.clock = new Clock(this);
    const { node, main, counts, speed, slider } = this.clock;
    counts.remove(); // the sentences have them
    node.querySelector("[aria-label='Next mistake']").remove();
    speed.parentNode.firstChild.textContent = "frames ";
    node.prepend(main);
    this.picture = make("img", { class: "shot" });
    this.sentence = make("p", { class: "sentence", id: "story", "aria-live": "polite" });
    root.append(make("main", { class: "lab more begun light shots" }, make("h1", {}, title),
      node, this.picture, this.sentence));
    this.clock.scene();
    this.clock.pace();
    slider.setAttribute("aria-label", "Frame"); // scene() names it after rounds
    document.addEventListener("keydown", (event) => this.key(event));
    this.goTo(0);
  }

  goTo(t) {
    this.at = Math.max(0, Math.min(this.run.rounds, t));
    const [picture, said] = this.frames[this.at];
    this.picture.src = picture;
    this.picture.alt = said;
    this.sentence.setAttribute("aria-live", this.clock.playing ? "off" : "polite");
    this.sentence.textContent = said;
    this.clock.at(this.at);
    this.clock.slider.setAttribute("aria-valuetext", said);
  }

  key(event) {
    const where = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0,
      End: this.run.rounds }[event.key];
    if (where === undefined || event.target.matches("input, select")) return;
    event.preventDefault();
    this.clock.go(() => where);
  }
}

new Frames(document.getElementById("page"),
  JSON.parse(document.getElementById("answer").textContent));
