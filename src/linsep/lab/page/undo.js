// Undo and redo: the scenes before each edit, with the step then shown.

export class Undo {
  constructor(lab) {
    Object.assign(this, { lab, past: [], future: [], now: null, before: null });
  }

  // A scene that nobody edited: a URL, or a step of a lesson.
  begin(now) { Object.assign(this, { past: [], future: [], now, before: null }); }

  shown() { return { scene: this.now, at: this.lab.at, undoes: true }; }

  // A scene was edited; while something is dragged (not `final`) it is not yet another one.
  edited(scene, final) {
    this.before ??= this.shown();
    if (!final) return;
    this.past.push(this.before);
    Object.assign(this, { now: scene, future: [], before: null });
  }

  undo() { this.go(this.past, this.future, "undo"); }

  redo() { this.go(this.future, this.past, "redo"); }

  go(from, to, verb) {
    if (!from.length) { this.lab.say(`Nothing to ${verb}.`); return; }
    to.push(this.shown());
    const { scene, ...how } = from.pop();
    this.now = scene;
    this.lab.change(scene, how);
    this.lab.say(`${verb === "undo" ? "Undone" : "Redone"}.`);
  }
}
