// Elements, and numbers as text.

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

const RAISED = { "-": "\u207B", 1: "\u00B9", 2: "\u00B2", 3: "\u00B3" };
const raised = (power) => [...String(power)].map((digit) => (
  RAISED[digit] ?? String.fromCharCode(0x2070 + Number(digit)))).join("");
const powerOf = (value) => Number(value.toExponential().split("e")[1]);

// Three digits, or as many as asked for: 0.333, 1.29 × 10¹²⁰, 1 rather than 1.00; digits before the
// point are never rounded away. `three_digits` of Python gives the same texts.
export function short(value, digits = 3) {
  if (Number.isNaN(value)) return "?";
  if (!Number.isFinite(value)) return value > 0 ? "\u221E" : "-\u221E";
  if (value === 0) return "0";
  const before = Math.abs(value) < 1e6 ? powerOf(value) + 1 : 0;
  const rounded = Number(value.toPrecision(Math.max(digits, before)));
  if (Math.abs(rounded) >= 1e-4 && Math.abs(rounded) < 1e6) return String(rounded);
  const [head, power] = value.toExponential(digits - 1).split("e");
  return `${head.replace(/\.?0+$/, "")} \u00D7 10${raised(Number(power))}`;
}

// Six digits, as in the tables of the library and for programs that read them.
export function sixDigits(value) { return String(Number(value.toPrecision(6))); }

export function minus(text) {
  return text.replace(/^-/, "\u2212");
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

export function download(name, content, type) {
  const url = typeof content === "string" && content.startsWith("data:")
    ? content : URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
