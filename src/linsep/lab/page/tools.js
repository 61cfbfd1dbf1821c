// The buttons above the plane: the class to add, edits of points, undo and redo.

import { make } from "./dom.js";
import { minus } from "../engine/numbers.js";
import { mark } from "./looks.js";

export class Tools {
  constructor(plane) {
    Object.assign(this, { plane, lab: plane.lab });
    this.node = make("div", { class: "tools", role: "toolbar", "aria-label": "Edit the points" });
  }

  draw() {
    const { lab, plane } = this;
    const { undo, scene } = lab;
    const focused = document.activeElement?.dataset?.key;
    const tool = (label, action, off = false) => make("button", { type: "button",
      onclick: action, disabled: off, "data-key": label, title: label }, label);
    const edits = [tool("Add", () => lab.addPoint(plane.rounded(plane.scale.back(plane.width / 2, plane.height / 2)))),
      tool("Delete", () => lab.deletePoint(lab.selected), lab.selected === null),
      tool("Clear", () => lab.clear(), !scene.points.length)];
    this.node.replaceChildren(this.chips(), ...(lab.descends ? [] : edits),
      tool("Undo", () => undo.undo(), !undo.past.length),
      tool("Redo", () => undo.redo(), !undo.future.length));
    if (focused) this.node.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  chips() {
    const { lab } = this;
    const names = lab.classNames.length < lab.limits.classes
      ? [...lab.classNames, "+"] : lab.classNames;
    const shown = { line: 0, curve: 2, descent: 0 }[lab.scene.settings.room] ?? names.length;
    return make("span", { class: "chips" }, ...names.slice(0, shown).map((name, code) => (
      make("button", { type: "button", class: "chip", "aria-pressed": String(code === lab.active),
        "data-class": code, "data-key": `class ${code}`,
        title: `Click in the plane to add a point of this class (key ${code + 1})`,
        onclick: () => lab.chooseClass(code) },
      mark(code, 7, 7, 5), code < lab.classNames.length ? minus(name) : "new class"))));
  }
}
