// Numbers, and rows of cells, as text.

const raised = (power) => [...String(power)].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "\u207B").join("");

// Three digits, or as many as asked for: 0.333, 1.29 × 10¹²⁰, 1 rather than 1.00; digits before the
// point are never rounded away.
export function short(value, digits = 3) {
  if (Number.isNaN(value)) return "?";
  if (!Number.isFinite(value)) return value > 0 ? "\u221E" : "-\u221E";
  if (value === 0) return "0";
  const before = Math.abs(value) < 1e6 ? Number(value.toExponential().split("e")[1]) + 1 : 0;
  const rounded = Number(value.toPrecision(Math.max(digits, before)));
  if (Math.abs(rounded) >= 1e-4 && Math.abs(rounded) < 1e6) return String(rounded);
  const [head, power] = value.toExponential(digits - 1).split("e");
  return `${head.replace(/\.?0+$/, "")} \u00D7 10${raised(Number(power))}`;
}

// Six digits, as in the tables of the library and for programs that read them.
export function sixDigits(value) { return String(Number(value.toPrecision(6))); }

export function minus(text) { return text.replace(/^-/, "\u2212"); }

export function csvText(lines) {
  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return lines.map((cells) => `${cells.map(String).map(quoted).join(",")}\n`).join("");
}

export const digits = (value) => minus(short(value));
export const vector = (values) => `[${values.map(digits).join(",\u00A0")}]`;
export const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

export const isNumber = (text) => /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(text);
