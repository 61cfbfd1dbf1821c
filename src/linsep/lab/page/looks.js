// Colours and marks of the classes: told apart by shape as well.

import { makeSvg } from "./dom.js";

export const COLOUR_NAMES = ["blue", "red", "green", "purple"];

// A colour of the style sheet, which knows light and dark.
export function classColour(code) { return `var(--class-${code})`; }

// A circle, a square, a triangle or a diamond of a class, for use in or outside of a picture.
export function mark(code, x, y, size) {
  const paths = [
    `M${x - size},${y}a${size},${size} 0 1,0 ${2 * size},0a${size},${size} 0 1,0 ${-2 * size},0z`,
    `M${x - size * 0.9},${y - size * 0.9}h${size * 1.8}v${size * 1.8}h${-size * 1.8}z`,
    `M${x},${y - size * 1.1}L${x + size * 1.1},${y + size * 0.9}H${x - size * 1.1}z`,
    `M${x},${y - size * 1.2}L${x + size * 1.2},${y}L${x},${y + size * 1.2}L${x - size * 1.2},${y}z`,
  ];
  const path = makeSvg("path", { d: paths[code], class: "mark", fill: classColour(code) });
  if (x === 0) return path;
  return makeSvg("svg", { width: 2 * x, height: 2 * y, "aria-hidden": "true" }, path);
}
