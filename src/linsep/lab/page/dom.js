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

// Up to six digits, 1 rather than 1.0, as in the tables of the library; whole numbers as they are.
export function short(value, digitsShown = 6) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value === 0 ? 0 : value);
  const [digits, exponent] = value.toExponential(digitsShown - 1).split("e");
  const power = Number(exponent);
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= 6) {
    const sign = power < 0 ? "-" : "+";
    return `${trimmed(digits)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return trimmed(value.toPrecision(Math.max(digitsShown, power + 1)));
}

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
