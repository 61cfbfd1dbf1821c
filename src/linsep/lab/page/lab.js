// The lab: a scene, its run and the position that is shown; views draw them. The engine (`connection`)
// answers with scenes and runs; scrubbing a run asks nothing.

import { make } from "./dom.js";
import { Clock } from "./clock.js";
import { Controls } from "./controls.js";
import { Fit } from "./fit.js";
import { keysOf, press } from "./keys.js";
import { Lesson } from "./lesson.js";
import { Loss } from "./loss.js";
import { Plane } from "./plane.js";
import { Proof } from "./proof.js";
import { Run } from "./run.js";
import { Sharing } from "./sharing.js";
import { Stage } from "./stage.js";
import { Story } from "./story.js";
import { Table } from "./table.js";
import { Undo } from "./undo.js";
import { Weights } from "./weights.js";

//: parts of a URL that the first screen shows
const PLAIN = new Set(["data", "points", "labels", "features", "at", "start", "rounds"]);

function needsMore(url) {
  return url.split("&").some((part) => part && !PLAIN.has(part.split("=")[0]));
}

export class Lab {
  constructor(root, connection) {
    Object.assign(this, { root, connection, scene: null, run: null, fit: null,
      proof: null, idle: "", classNames: ["-1", "+1"], fields: [], ready: [], limits: {}, at: 0, active: 1,
      selected: null, waiting: [], number: 0 });
    this.lessons = new Lesson(this);
    this.stage = new Stage(this);
    this.plane = new Plane(this);
    this.undo = new Undo(this);
    this.clock = new Clock(this);
    this.proofs = new Proof(this);
    this.sharing = new Sharing(this);
    this.controls = new Controls(this);
    this.fits = new Fit(this);
    this.story = new Story(this);
    this.weights = new Weights(this);
    this.table = new Table(this);
    this.loss = new Loss(this);
    this.views = [this.clock, this.story, this.plane, this.weights, this.proofs, this.loss, this.table, this.fits,
      this.sharing, this.controls, this.stage];
    this.fault = make("p", { class: "fault", id: "fault", role: "alert" });
    this.heard = make("p", { class: "heard", id: "heard", role: "status" });
    this.node = make("main", { class: "lab" },
      make("header", {}, make("h1", {}, "linsep", make("span", {}, " lab")),
        this.stage.node, this.moreButton = make("button", { type: "button", class: "more-button",
          "aria-expanded": "false", onclick: () => this.showMore(!this.more) }, "More")),
      this.fault, this.heard,
      this.columns = make("div", { class: "columns" }),
      this.footer = make("footer"));
    this.narrow = matchMedia("(max-width: 720px)");
    this.narrow.addEventListener("change", () => this.arrange());
    this.arrange();
    root.append(this.node);
    document.addEventListener("keydown", (event) => press(this, event));
    this.reopen();
    addEventListener("popstate", () => this.reopen());
  }

  // Put the parts of the page where they are seen, so that Tab goes from one to the next: in columns,
  // or on a phone below each other, exports last.
  arrange() {
    const [lesson, settings, story, clock, plane, table, fit, proof, loss, weights, sharing] = [
      this.lessons.column, ...[this.controls, this.story, this.clock, this.plane, this.table,
        this.fits, this.proofs, this.loss, this.weights, this.sharing].map(({ node }) => node)];
    const column = (name, ...parts) => make("div", { class: name }, ...parts);
    const early = ["descent", "soft"].includes(this.scene?.settings.room); // they have a slider
    this.columns.replaceChildren(...(this.narrow.matches
      ? [lesson, story, plane, clock, ...(early ? [settings] : []), fit, proof, loss, weights, table,
        ...(early ? [] : [settings]), sharing]
      : [column("side left", lesson, settings),
        column("middle", story, clock, plane, table),
        column("side right", proof, fit, loss, weights, sharing)]));
  }

  // Ask the engine; the promise resolves with its answer.
  ask(kind, more = {}) {
    this.number += 1;
    this.node.dataset.asked = this.number;
    this.connection.send({ kind, number: this.number, ...more });
    return new Promise((resolve) => { this.waiting.push(resolve); });
  }

  // The engine answers in the order in which it was asked.
  answered(answer) { this.waiting.shift()(answer); }

  // Show the scene of an answer; of questions that come while one is answered only the last is asked.
  async show(kind, given, how = {}) {
    this.clock.pause();
    clearTimeout(this.remembering);
    Object.assign(this, { next: { kind, given, how }, wanted: given.scene ?? null });
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const asked = this.next;
      this.next = null;
      const answer = await this.ask(asked.kind, asked.given); // eslint-disable-line no-await-in-loop
      if (!this.next) this.wanted = null;
      // what was changed before a URL was opened is another scene
      if (this.next?.kind !== "open") this.take(answer, asked.how);
    }
    this.busy = false;
    this.remember();
  }

  async reopen() {
    await this.show("open", { url: location.hash }, { at: null, fit: true, edits: false });
    await this.lessons.follow();
    if (!location.hash) history.replaceState(null, "", `#${this.url}`);
  }

  begin(answer) {
    const { fields, ready, limits } = answer;
    Object.assign(this, { fields, ready, limits });
    this.controls.start();
    this.lessons.start(answer.lessons);
    this.node.classList.add("begun");
  }

  fail(text) {
    this.fault.textContent = text;
    if (text) this.fault.scrollIntoView?.({ block: "nearest" });
  }

  // Announce the effect of a key to screen readers.
  say(text) { this.heard.textContent = text; }

  // Show an answer with a scene, at a step or its own (null). Edits can be undone, and have an address
  // unless something is still dragged (not `final`).
  take(answer, { at = this.at, fit = false, final = true, undoes = false, edits = true }) {
    this.fail(answer.fault ?? "");
    if (!answer.scene) { this.redraw(); return; }
    if (!this.fields.length) this.begin(answer);
    if (!edits) this.undo.begin(answer.scene);
    else if (!undoes) this.undo.edited(answer.scene, final);
    if (edits && final) history.pushState(null, "", `#${answer.url}`);
    else if (!edits && location.hash) history.replaceState(null, "", `#${answer.url}`);
    const atEnd = at && at === this.rounds && !undoes;
    this.url = answer.url;
    const { scene, run, idle, classNames } = answer;
    const { room, surface } = scene.settings;
    const view = room === "descent" ? surface : room;
    Object.assign(this, { scene, idle, classNames, proof: null });
    this.run = run ? new Run(run, scene.points) : null;
    this.fit = answer.fit ?? null;
    this.node.classList.toggle("regression", this.regression);
    this.node.classList.toggle("nothing", !run && !this.regression);
    this.node.dataset.room = room;
    this.footer.textContent = keysOf(room);
    if (!(this.selected < scene.points.length)) this.selected = null;
    this.at = Math.max(0, Math.min(atEnd ? Infinity : at ?? scene.at, this.rounds));
    if (undoes || fit || view !== this.view || (final && !this.plane.showsAll)) this.plane.fit();
    if (view !== this.view && this.narrow.matches) this.arrange();
    this.view = view;
    if (fit) this.clock.pace();
    this.redraw();
    if (!this.more && needsMore(answer.url)) this.showMore(true);
    if (answer.columns) this.controls.loaded(answer.columns);
    if (run) this.prove();
    else this.node.dataset.proved = answer.number ?? 0;
  }

  // Open or close settings, table, proof, weight space and exports.
  showMore(more) {
    this.more = more;
    this.node.classList.toggle("more", more);
    this.moreButton.textContent = more ? "Less" : "More";
    this.moreButton.setAttribute("aria-expanded", String(more));
    if (this.scene) this.redraw();
  }

  // Whether the mode is a regression, which has a fit and no run.
  get regression() { return Boolean(this.scene) && this.scene.settings.room !== "classes"; }

  // Whether the fit is a descent, which is stepped through as a run is.
  get descends() { return this.fit?.kind === "descent"; }

  get rounds() { return this.run ? this.run.rounds : this.descends ? this.fit.rows.length - 1 : 0; }

  redraw() {
    if (!this.scene) return;
    for (const view of this.views) view.scene();
    this.goTo(this.at);
  }

  async prove() {
    const { scene } = this;
    const answer = await this.ask("proof", { scene });
    if (scene !== this.scene) return;
    this.proof = answer.proof ?? null;
    if (answer.fault) this.fail(answer.fault);
    this.proofs.scene();
    this.plane.drawProof();
    this.weights.at(this.at);
    this.node.dataset.proved = answer.number;
  }

  goTo(t) {
    this.at = Math.max(0, Math.min(t, this.rounds));
    for (const view of this.views) view.at?.(this.at);
    if (!this.clock.playing) this.remember();
  }

  // Keep the position in the URL, once it rests.
  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      if (this.clock.playing || this.busy) return;
      this.scene.at = this.at;
      const bare = location.hash.slice(1).replace(/&?at=\d+/, "");
      history.replaceState(null, "", `#${bare}${this.at ? `&at=${this.at}` : ""}`);
    }, 250);
  }

  change(scene, how) { this.show("scene", { scene: { ...scene, at: 0 } }, how); }

  // The scene as its user left it, which may be ahead of the last answer.
  latest() { return this.wanted ?? this.scene; }

  open(ready) { this.selected = null; this.show("scene", { ready }, { at: 0, fit: true }); }

  changeSetting(name, value, how = {}) {
    const scene = this.latest();
    this.change({ ...scene, settings: { ...scene.settings, [name]: value } },
      { at: name === "keep" || (this.descends && name !== "room") ? this.at : 0, ...how });
  }

  changePoints(points, how) { this.change({ ...this.latest(), points, name: "" }, how); }

  addPoint(place) {
    const before = this.latest().points;
    if (!this.more || before.length >= this.limits.points) return;
    const points = [...before, this.pointAt(place, this.active)];
    this.select(null);
    this.changePoints(points);
  }

  // While a point is dragged it moves at once, and its run follows.
  movePoint(j, place, dragged = false) {
    const points = this.latest().points.map((point, k) => (k === j ? this.pointAt(place, point[2]) : point));
    const curve = this.scene.settings.room === "curve";
    const [x, y] = this.plane.scale.point([place[0], curve ? points[j][2] : place[1]]);
    this.plane.points.dots[j].setAttribute("transform", `translate(${x},${y})`);
    this.moved = points;
    this.changePoints(points, { final: !dragged });
  }

  // A point of a place in the plane: for a curve its height says which class it has.
  pointAt([x, y], code) {
    const { room } = this.scene.settings;
    if (room === "curve") return [x, y, y > 0.5 ? 1 : 0];
    return [x, y, room === "line" ? 0 : code];
  }

  endMove() { if (this.moved) this.changePoints(this.moved); }

  deletePoint(j) {
    const points = this.latest().points.filter((_, k) => k !== j);
    this.selected = null;
    this.changePoints(points);
  }

  clear() {
    this.selected = null;
    const settings = { ...this.scene.settings, start: [0, 0, 0] };
    this.change({ ...this.scene, settings, points: [], labels: [], name: "" }, { at: 0 });
  }

  select(j) {
    if (this.selected === j) return;
    this.selected = j;
    this.plane.points.showSelected();
    this.plane.tools.draw();
  }

  chooseClass(code) {
    if (code >= this.limits.classes) return;
    this.active = code;
    if (this.selected !== null && this.scene.points[this.selected]?.[2] !== code) {
      this.changePoints(this.latest().points.map((point, k) => (
        k === this.selected ? [point[0], point[1], code] : point)));
    }
    this.plane.tools.draw();
  }
}
