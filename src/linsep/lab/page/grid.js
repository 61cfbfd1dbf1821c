// The grid of a picture: lines at round numbers, their texts, and the names of the axes.

import { makeSvg } from "./dom.js";
import { ticks, tickText } from "./geometry.js";

// Draw lines and their texts, of `type` pixels, in two groups; returns where lines are across and up.
export function drawGrid({ grid, texts }, scale, names, type) {
  const { box: [left, bottom, right, top], width, height } = scale;
  const text = (x, y, label, anchor) => texts.append(makeSvg("text", { x, y, "text-anchor": anchor }, label));
  const line = (value, ends) => grid.append(makeSvg("line", { ...ends, class: value === 0 ? "zero" : "" }));
  const across = ticks(left, right, Math.max(2, Math.min(6, Math.floor(width / (7 * type)))));
  const up = ticks(bottom, top, 5);
  [grid, texts].forEach((group) => group.replaceChildren());
  across.forEach((value) => {
    const x = scale.x(value);
    line(value, { x1: x, x2: x, y1: 0, y2: height });
    if (x > 1.1 * type && x < width - 1.1 * type) text(x + (value === 0 ? 0.7 * type : 0), height - 5, tickText(value, across), "middle");
  });
  up.forEach((value) => {
    const y = scale.y(value);
    line(value, { x1: 0, x2: width, y1: y, y2: y });
    if (y > 2.7 * type && y < height - 1.5 * type) text(6, y - 3, tickText(value, up), "start");
  });
  text(width - 8, height - 1.8 * type, names[0], "end");
  text(8, 5 + type, names[1], "start");
  return [across, up];
}
