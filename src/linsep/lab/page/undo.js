// Undo and redo: the scenes before each edit, with the step and the part of the plane then shown.

const MOST = 500;
const plain = (scene) => JSON.stringify({ ...scene, at: 0 });

export class Undo {
  constructor(lab) {
    Object.assign(this, { lab, past: [], future: [], now: null, before: null });
  }

  // A scene that nobody edited: a URL, or a step of a lesson.
  begin(scene) {
    Object.assign(this, { past: [], future: [], now: plain(scene), before: null });
  }

  shown() { return { at: this.lab.at, seen: this.lab.plane.view.kept() }; }

  // A scene was edited; while something is dragged (not `final`) it is not yet another one.
  edited(scene, final = true) {
    this.before ??= this.shown();
    if (!final) return;
    const [text, shown] = [plain(scene), this.before];
    this.before = null;
    if (text === this.now) return;
    this.past.push({ text: this.now, ...shown });
    this.past.splice(0, this.past.length - MOST);
    Object.assign(this, { now: text, future: [] });
  }

  // The last edit was not valid, and did not happen.
  refused(scene) {
    if (this.past.length && plain(scene) === this.now) this.now = this.past.pop().text;
  }

  undo() { this.go(this.past, this.future, "undo"); }

  redo() { this.go(this.future, this.past, "redo"); }

  go(from, to, verb) {
    const wanted = from.pop();
    if (!wanted) { this.lab.say(`Nothing to ${verb}.`); return; }
    to.push({ text: this.now, ...this.shown() });
    this.now = wanted.text;
    this.lab.change(JSON.parse(wanted.text), { at: wanted.at, seen: wanted.seen });
    const more = from.length ? `${from.length} more step${from.length > 1 ? "s" : ""}` : "Nothing more";
    this.lab.say(`${verb === "undo" ? "Undone" : "Redone"}. ${more} to ${verb}.`);
  }
}
