// Elements, and equations as text.

import { short } from "../engine/numbers.js";

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function makeSvg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

// b + w1 x1 + w2 x2 = 0, with signs as one would write them; without a weight there is no line.
export function equation(weights, features) {
  const [b, ...rest] = weights;
  if (rest.every((w) => w === 0)) return "no line yet: the weights of the features are 0";
  const terms = rest.map((w, j) => [w, features[j]]).filter(([w]) => w !== 0);
  if (b !== 0) terms.push([b, ""]);
  const texts = terms.map(([w, name], place) => {
    const size = Math.abs(w) === 1 && name ? "" : `${short(Math.abs(w))} `;
    const sign = w < 0 ? (place ? " \u2212 " : "\u2212") : place ? " + " : "";
    return `${sign}${size}${name}`.trimEnd();
  });
  return `${texts.join("")} = 0`;
}

// Keep the width and height of a frame in its owner, who draws again when they change.
export function resized(owner) {
  const { clientWidth: width, clientHeight: height } = owner.frame;
  if (!width || !height || (owner.width === width && owner.height === height)) return;
  Object.assign(owner, { width, height });
  if (owner.lab.scene) owner.redraw();
}

export function download(name, content, type) {
  const url = typeof content === "string" && content.startsWith("data:")
    ? content : URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
