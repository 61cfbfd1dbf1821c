// The user's own points: columns of a text or a file. How numbers and columns are written is detected and
// said; the command `linsep lab FILE` has the options of reading.

import { checkedLabels, defaultNames, LONGEST_NAME, MOST_CLASSES, MOST_POINTS, TARGETS } from "./scene.js";
import { DEFAULTS, LARGEST } from "./settings.js";
import { counted, isNumber, short } from "./numbers.js";

export const MOST_BYTES = 1000000;
//: columns are standardized if their standard deviations differ by a larger factor
const MOST_UNEQUAL = 5;
const SCALED = " (scaled)";
const MISSING = new Set(["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
  "NaN", "n/a", "nan", "null"]);
const MARKS = { "\t": "tab", ";": "semicolon", ",": "comma", "|": "|", " ": "a space" };
//: how numbers are written, in the order in which it is tried, and what is said of it
const SPELLINGS = [{}, { thousands: "," }, { decimal: "," }, { units: true }, { decimal: ",", thousands: "." }, { units: true, thousands: "," },
  { units: true, decimal: "," }, { units: true, decimal: ",", thousands: "." }];
const SAID = { decimal: () => "decimal comma", thousands: (mark) => `${mark === "," ? "comma" : "point"} between thousands`,
  units: () => "percent signs and currencies removed" };

// The number that a cell spells, NaN for other text; `units` takes percent signs and currencies away.
function spelledNumber(cell, { decimal = ".", thousands = "", units = false } = {}) {
  let text = cell.trim();
  if (units) {
    text = text.replace(/\u2212/g, "-").replace(/[\p{Sc}%\u00a0\u2009\u202f]|\b[A-Z]{3}\b/gu, "").trim();
    if (/^\(.*\)$/.test(text)) text = `-${text.slice(1, -1).trim()}`;
  }
  if (thousands && text.includes(thousands)) {
    const [whole, ...rest] = text.split(decimal);
    const groups = whole.split(thousands);
    if (!/^[+-]?[1-9]\d{0,2}$/.test(groups[0]) || !groups.slice(1).every((part) => /^\d{3}$/.test(part))) return NaN;
    text = [groups.join(""), ...rest].join(decimal);
  }
  if (decimal !== ".") text = text.includes(".") ? "" : text.replace(decimal, ".");
  return isNumber(text) ? Number(text) : NaN;
}

// The text of a file, and what is said of its encoding.
function decoded(name, content) {
  const ways = content[0] === 0xff ? ["utf-16le"] : content[0] === 0xfe ? ["utf-16be"] : ["utf-8", "windows-1252"];
  for (const way of ways) {
    try {
      const text = new TextDecoder(way, { fatal: true }).decode(content);
      if (!text.includes("\0")) return [text, way === "utf-8" ? [] : [`encoding ${way}`]];
    } catch { /* the next way */ }
  }
  throw new Error(`${name} is not text in ${ways.join(" or ")}: save it as UTF-8.`);
}

// The lines of a text that are not empty: the number of each, and its cells.
function records(name, text, mark) {
  const m = `\\x${mark.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^${m}\\r\\n]*))(${m}|\\r\\n|\\n|\\r)`, "y");
  const [found, all] = [[], /[\r\n]$/.test(text) ? text : `${text}\n`];
  let [cells, line, first] = [[], 1, 1];
  while (field.lastIndex < all.length) {
    const [whole, quoted, plain, end] = field.exec(all);
    if (plain?.startsWith('"')) throw new Error(`${name} line ${first} has a quote that is not closed: correct the line.`);
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split(/\r\n|\n|\r/).length - 1;
    if (end !== mark) {
      if (cells.length > 1 || plain !== "") found.push([first, cells]);
      [cells, first] = [[], line];
    }
  }
  const width = found[0]?.[1].length;
  const odd = found.find(([, own]) => own.length !== width);
  if (odd) throw new Error(`${name} line ${odd[0]} has ${counted(odd[1].length, "field")}, but the first line has ${width}: correct the line.`);
  return found;
}

// The scene with the points of a text, and the columns that they come from. `given` has `text`, or the
// bytes of a file and its name; and the chosen columns.
export function sceneOfCsv({ name = "The text", columns: chosen = null, text: pasted, size, content }, scene) {
  const bytes = pasted?.length ?? size ?? content.length;
  if (bytes > MOST_BYTES) {
    throw new Error(`${name} has ${bytes.toLocaleString("en")} bytes, and this page reads at most ${MOST_BYTES.toLocaleString("en")}: remove rows, or use the `
      + `command “linsep lab FILE”, which shows the first ${MOST_POINTS} rows.`);
  }
  const [text, how] = pasted === undefined ? decoded(name, Uint8Array.from(content)) : [pasted, []];
  const top = text.trimStart().split("\n")[0].replace(/"[^"]*"/g, "");
  const mark = Object.keys(MARKS).find((c) => top.includes(c)) ?? " ";
  if (mark !== ",") how.push(`${MARKS[mark]} between columns`);
  let lines = records(name, mark === " " ? text.replace(/[ \t]+/g, " ").replace(/^ | $/gm, "") : text, mark);
  const head = lines[0]?.[1] ?? [];
  const repeats = head.some((cell, j) => !MISSING.has(cell.trim()) && lines.slice(1).some(([, own]) => own[j] === cell));
  const headed = head.length && (!head.some(isNumber) || TARGETS.includes(head.at(-1).trim())) && !repeats;
  const names = head.map((cell, j) => (headed ? cell.trim() : `column_${j + 1}`));
  if (headed) lines = lines.slice(1);
  else how.push("line 1 as a point");
  const again = names.find((one, j) => names.indexOf(one) !== j);
  if (again !== undefined) throw new Error(`${name} has several columns named '${again}': rename all but one.`);
  if (!lines.length) throw new Error(`${name} has no rows: add a row per point, as in 1.5, 2, a.`);
  const numbers = numericColumns(names, lines, how);
  const at = chosenColumns(name, names, numbers, lines, chosen);
  const named = !numbers.has(at.label) && !lines.every(([, own]) => MISSING.has(own[at.label].trim()));
  const missing = (own, j) => (named && j === at.label ? !own[j].trim() : MISSING.has(own[j].trim()));
  const rows = lines.map(([line, own], k) => ({ line, own, label: own[at.label].trim(), place: [at.x, at.y].map((j) => numbers.get(j)[k]) }))
    .filter(({ own }) => ![at.x, at.y, at.label].some((j) => missing(own, j)));
  if (!rows.length) throw new Error(`${name} has a missing value in every row: choose columns with values.`);
  const shown = rows.slice(0, MOST_POINTS);
  const [axes, places, why] = scaledPlaces([names[at.x], names[at.y]], shown.map(({ place }) => place), scene.settings.room, at.scale);
  const made = sceneOfRows(scene, axes, places, shown.map(({ line, label }) => [`${name} line ${line}`, label]), names[at.label]);
  const classes = [shown, rows].map((some) => new Set(some.map(({ label }) => label)).size);
  const left = lines.length - rows.length;
  const said = [how.length ? `Read with: ${how.join(", ")}.` : "", rows.length > MOST_POINTS ? `The first ${MOST_POINTS} of ${
    counted(rows.length, "row")} are shown${classes[0] < classes[1] ? `, with ${classes[0]} of ${classes[1]} classes` : ""}.` : "",
  left ? `Left out for missing values: ${counted(left, "row")}.` : "", why].filter(Boolean);
  return [made, { names, numeric: [...numbers.keys()], ...at, said }];
}

// The values of every column of numbers, NaN where missing; `how` becomes how they are written.
function numericColumns(names, lines, how) {
  const numbers = new Map();
  names.forEach((one, j) => {
    const cells = lines.map(([, own]) => own[j].trim());
    const there = cells.filter((cell) => !MISSING.has(cell));
    const spelling = there.length && SPELLINGS.find((way) => there.every((cell) => !Number.isNaN(spelledNumber(cell, way))));
    if (!one || !spelling) return; // a column without a name has row numbers
    numbers.set(j, cells.map((cell) => (MISSING.has(cell) ? NaN : spelledNumber(cell, spelling))));
    Object.entries(spelling).map(([key, value]) => SAID[key](value)).filter((text) => !how.includes(text)).forEach((text) => how.push(text));
  });
  return numbers;
}

function chosenColumns(name, names, numbers, lines, chosen) {
  if (names.length < 3) {
    throw new Error(`${name} has ${counted(names.length, "column")}, and every row needs two coordinates and a class, as in 1.5, 2, a: add columns.`);
  }
  const others = [...names.keys()].filter((j) => names[j] && !numbers.has(j));
  const counts = (others.slice(0, -1).length ? others.slice(0, -1) : others).map((j) => [j, lines.filter(([, own]) => isNumber(own[j])).length]);
  const [odd, most] = counts.reduce((a, b) => (b[1] > a[1] ? b : a), [-1, 0]);
  if (!chosen && most > (numbers.size < 2 ? 0 : lines.length / 2)) {
    const [line, own] = lines.find(([, cells]) => !isNumber(cells[odd]) && !MISSING.has(cells[odd].trim()));
    throw new Error(`${name} line ${line}, column '${names[odd]}' holds '${own[odd].slice(0, 60)}', not a number: correct it.`);
  }
  const numeric = [...numbers.keys()];
  const label = chosen?.label ?? others.at(-1) ?? numeric.at(-1);
  const usual = numeric.filter((j) => j !== label);
  if (usual.length < 2) {
    throw new Error(`${name} needs two numeric columns besides the class '${names[label]}', for the coordinates: add a column of numbers.`);
  }
  return { x: chosen?.x ?? usual[0], y: chosen?.y ?? usual[1], label, scale: chosen?.scale ?? "" };
}

// Both coordinates with mean 0 and standard deviation 1, or as they are: lines and curves have axes of
// their own, others are standardized if their deviations differ much.
function scaledPlaces(axes, places, room, scale) {
  const columns = [0, 1].map((j) => places.map((place) => place[j]));
  const means = columns.map((c) => c.reduce((a, b) => a + b) / c.length);
  const spreads = columns.map((c, j) => Math.sqrt(c.reduce((sum, v) => sum + (v - means[j]) ** 2, 0) / c.length));
  const needed = !["line", "curve"].includes(room) && Math.max(...spreads) > MOST_UNEQUAL * Math.min(...spreads);
  if (scale === "none" || !spreads.every(Boolean) || (!scale && !needed) || places.flat().some((v) => Math.abs(v) > LARGEST)) return [axes, places, ""];
  const why = scale ? "" : `Both coordinates are standardized, since their standard deviations differ: ${
    axes.map((axis, j) => `${axis} ${short(spreads[j])}`).join(", ")}. “Scale: as in the file” keeps the numbers.`;
  return [axes.map((axis) => axis.slice(0, LONGEST_NAME - SCALED.length) + SCALED),
    places.map((place) => place.map((v, j) => (v - means[j]) / spreads[j])), why];
}

// The scene with these points; its settings stay, but for initial weights.
function sceneOfRows(scene, axes, places, labeled, column) {
  const values = labeled.map(([, label]) => label);
  const plain = values.every(isNumber) ? (label) => String(Number(label))
    : values.every((label) => /^(true|false)$/i.test(label)) ? (label) => label.toLowerCase() : (label) => label;
  labeled.forEach(([where, label], row) => {
    if (label.length > LONGEST_NAME || /\p{C}/u.test(label)) {
      throw new Error(`${where}, column '${column}' holds a name of ${label.length} characters, and names have 1 to ${LONGEST_NAME} printable characters: shorten it.`);
    }
    const far = places[row].findIndex((value) => !(Math.abs(value) <= LARGEST));
    if (far >= 0) {
      throw new Error(`${where}, column '${axes[far]}' holds ${places[row][far]}, and the lab shows numbers from -1,000,000 to 1,000,000: rescale the column.`);
    }
  });
  const shown = values.map(plain);
  const order = (name) => (isNumber(name) ? Number(name) : Infinity);
  const names = [...new Set(shown)].sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
  if (names.length > MOST_CLASSES) {
    throw new Error(`Column '${column}' has ${names.length} different values, and the lab shows at most ${MOST_CLASSES} classes: choose another column, or leave rows out.`);
  }
  const usual = ["-1", "-1,1", String(defaultNames(names.length))].includes(String(names));
  const cut = axes.map((axis, k) => (axis || `column ${k + 1}`).slice(0, LONGEST_NAME));
  const features = cut[0] === cut[1] ? cut.map((axis, k) => `${axis.slice(0, LONGEST_NAME - 4)} (${k + 1})`) : cut;
  return { ...scene, points: places.map(([x, y], row) => [x + 0, y + 0, names.indexOf(shown[row])]), name: "",
    labels: usual ? [] : checkedLabels(names), features, at: 0, settings: { ...scene.settings, start: DEFAULTS.start } };
}
