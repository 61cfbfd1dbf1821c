// Colours and marks of the classes: told apart by shape as well.

import { makeSvg } from "./dom.js";

const COLOURS = {
  light: ["#0067a5", "#c94a00", "#00795a", "#a03d86"],
  dark: ["#56b4e9", "#ff9a4d", "#2fd0a0", "#e59fd0"],
};
const theme = matchMedia("(prefers-color-scheme: dark)");

export function onTheme(action) {
  theme.addEventListener("change", action);
}

function rgb(text) {
  return [1, 3, 5].map((from) => parseInt(text.slice(from, from + 2), 16));
}

export function classColour(code, numbers = false) {
  const colour = COLOURS[theme.matches ? "dark" : "light"][code];
  return numbers ? rgb(colour) : colour;
}

export function ink(numbers = false) {
  const colour = theme.matches ? "#e8eaed" : "#1d2530";
  return numbers ? rgb(colour) : colour;
}

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
