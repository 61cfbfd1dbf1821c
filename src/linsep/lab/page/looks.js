// Colors and marks of the classes: told apart by shape as well.

import { makeSvg } from "./dom.js";

export const COLOR_NAMES = ["blue", "orange", "green", "pink", "light blue", "red", "yellow", "brown",
  "violet", "gray"];

// A color of the style sheet, which knows light and dark.
export function classColor(code) { return `var(--class-${code})`; }

// The outlines of marks of size 1 around 0: circle, square, triangle, diamond, triangle that points
// down, cross, star, bar, hexagon, upright cross.
const CROSS = [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2],
  [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]];
const CORNERS = [null, [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.1], [1.1, 0.9], [-1.1, 0.9]], [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  [[0, 1.1], [1.1, -0.9], [-1.1, -0.9]], turned(CROSS, 45),
  star(5, 1.3, 0.55), [[-1.3, -0.5], [1.3, -0.5], [1.3, 0.5], [-1.3, 0.5]], star(3, 1.15, 1.15), CROSS];

function turned(corners, degrees) {
  const [c, s] = [Math.cos, Math.sin].map((f) => f((degrees * Math.PI) / 180));
  return corners.map(([x, y]) => [c * x - s * y, s * x + c * y]);
}

function star(tips, outer, inner) {
  return Array.from({ length: 2 * tips }, (_, k) => turned([[0, k % 2 ? -inner : -outer]],
    (180 * k) / tips)[0]);
}

// The mark of a class, for use in or outside of a picture.
export function mark(code, x, y, size) {
  const corners = CORNERS[code]?.map(([u, v]) => [x + size * u, y + size * v]
    .map((value) => Math.round(value * 100) / 100).join(","));
  const d = corners ? `M${corners.join("L")}z`
    : `M${x - size},${y}a${size},${size} 0 1,0 ${2 * size},0a${size},${size} 0 1,0 ${-2 * size},0z`;
  const path = makeSvg("path", { d, class: "mark", fill: classColor(code) });
  if (x === 0) return path;
  return makeSvg("svg", { width: 2 * x, height: 2 * y, viewBox: `0 0 ${2 * x} ${2 * y}`,
    "aria-hidden": "true" }, path);
}
