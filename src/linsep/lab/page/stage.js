// The stage: the picture in full screen for a lecture, with large type and thick lines, revealed one
// part at a time.

import { make, resized } from "./dom.js";

//: the parts of each mode in the order in which they are revealed; the style sheet defines a part
const [AREAS, LINE] = [["points", "line", "shade", "rings", "sentence"], ["points", "line", "sentence"]];
const PARTS = { classes: AREAS, soft: AREAS, bayes: AREAS, line: LINE, curve: LINE, descent: ["contours", "path", "sentence"] };
//: type, and sizes of marks as multiples of those on the page
const [SMALL, LARGE, TIMES] = [11, 24, 1.8];

export class Stage {
  constructor(lab) {
    Object.assign(this, { lab, on: false, hidden: [] });
    this.next = make("button", { type: "button", class: "reveal", onclick: () => this.reveal() });
    this.button = make("button", { type: "button", onclick: () => this.toggle() });
    this.node = make("div", { class: "stage-buttons" }, this.next, this.button);
    document.addEventListener("fullscreenchange", () => {
      if (this.on && !document.fullscreenElement) this.toggle();
    });
    this.show();
  }

  get type() { return this.on ? LARGE : SMALL; }

  get times() { return this.on ? TIMES : 1; }

  toggle() {
    const { lab } = this;
    this.on = !this.on;
    lab.node.classList.toggle("lecture", this.on);
    this.hidden = [];
    this.show();
    if (this.on) {
      lab.say("Full screen: press F or Escape to leave. Space plays, arrows step, R reveals one part "
        + "at a time.");
      // In a frame, as of a notebook, the browser may refuse: the picture fills the frame then.
      lab.node.requestFullscreen?.().catch(() => lab.say("The picture fills the page: press F to leave."));
    } else {
      lab.say("Full screen is off.");
      if (document.fullscreenElement) document.exitFullscreen();
    }
    resized(lab.plane);
    if (lab.scene) lab.plane.redraw();
  }

  get parts() {
    const room = this.lab.scene?.settings.room ?? "classes";
    return [...PARTS[room], ...(this.lab.lessons.asks ? ["answer"] : [])];
  }

  // Hide everything; then show one part more each time.
  reveal() {
    if (!this.hidden.length) {
      this.hidden = this.parts;
      this.lab.say(`Hidden: ${this.hidden.join(", ")}.`);
    } else {
      const [first, ...others] = this.hidden;
      this.hidden = others;
      if (first === "answer") this.lab.lessons.reveal();
      this.lab.say(`Shown: ${first}.`);
    }
    this.show();
  }

  show() {
    const { node } = this.lab;
    node?.setAttribute("data-hides", this.hidden.join(" "));
    this.next.textContent = this.hidden.length ? `Show ${this.hidden[0]}` : "Hide all";
    this.next.title = "Key R: hide all, then show one part at a time";
    this.button.textContent = this.on ? "Leave" : "Full screen";
    this.button.title = "Key F";
  }

  // Another scene may have other parts.
  scene() {
    const { parts } = this;
    const left = this.hidden.filter((part) => parts.includes(part));
    if (left.length < this.hidden.length) { this.hidden = left; this.show(); }
  }
}
