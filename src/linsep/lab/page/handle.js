// A place of the plane that is moved by mouse, finger or arrow keys.

import { makeSvg, set } from "./dom.js";

const KEY_STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// How far an arrow key moves something, in pixels; undefined for other keys.
export function stepOf(event) {
  return KEY_STEPS[event.key]?.map((way) => way * (event.shiftKey ? 40 : 8));
}

export class Handle {
  // `label` names it for screen readers; `moved` receives the new place in pixels, and whether the
  // plane still holds it.
  constructor(name, label, moved) {
    Object.assign(this, { moved, at: [0, 0], held: false });
    this.node = makeSvg("g", { class: `handle ${name}`, tabindex: "0", role: "button",
      "aria-label": label },
      makeSvg("circle", { class: "touch", r: 16 }), makeSvg("circle", { class: "grip", r: 7 }));
    this.node.addEventListener("keydown", (event) => {
      const step = stepOf(event);
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.move([this.at[0] + step[0], this.at[1] - step[1]], false);
    });
    this.hide();
  }

  move(pixels, dragged) {
    this.show(pixels);
    this.moved(pixels, dragged);
  }

  show(pixels, label = null) {
    this.at = pixels;
    this.node.style.display = "";
    set(this.node, { transform: `translate(${pixels})`, ...(label ? { "aria-label": label } : {}) });
  }

  hide() {
    this.node.style.display = "none";
    this.held = false;
  }
}
