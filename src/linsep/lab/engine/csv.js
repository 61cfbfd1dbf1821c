// The user's own points: columns of a text or a file.

import { checkedLabels, defaultNames, LONGEST_NAME, MOST_CLASSES, MOST_POINTS } from "./scene.js";
import { DEFAULTS, LARGEST } from "./settings.js";
import { short } from "./numbers.js";

export const MOST_BYTES = 1000000;
//: columns are standardized if their standard deviations differ by a larger factor
const MOST_UNEQUAL = 5;
const SCALED = " (scaled)";
const TARGETS = ["class", "label", "target"];
const MISSING = new Set(["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
  "NaN", "n/a", "nan", "null"]);
//: options of reading on the page: name, label, and values with their texts
export const READING = [
  ["encoding", "Encoding", [["utf-8", "UTF-8"], ["utf-16", "UTF-16"], ["windows-1252", "Windows-1252"]]],
  ["delimiter", "Between columns", [[",", "comma"], [";", "semicolon"], ["\t", "tab"], [" ", "a space"], ["|", "|"]]],
  ["decimal", "Decimal mark", [[".", "point"], [",", "comma"]]],
  ["thousands", "Between thousands", [[",", "comma"], [".", "point"], [" ", "space"], ["'", "apostrophe"]]],
  ["header", "First line", [["yes", "column names"], ["no", "a point"]]],
  ["missing", "Missing values", [["error", "refused"], ["drop", "left out"]]],
  ["scale", "Scale", [["none", "as in the file"], ["standard", "standardized"]]],
];
const worded = (option, value) => READING.find(([name]) => name === option)[2].find(([key]) => key === value)?.[1] ?? value;

const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

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
  return PLAIN.test(text) ? Number(text) : NaN;
}
const isNumber = (cell) => PLAIN.test(cell.trim());
//: what is tried where numbers are not written plainly
const SPELLINGS = [{ thousands: "," }, { decimal: "," }, { units: true }, { decimal: ",", thousands: "." }, { units: true, thousands: "," },
  { units: true, decimal: "," }, { units: true, decimal: ",", thousands: "." }];

// The text of a file, and its encoding if that was detected.
function decoded(name, content, told) {
  const ways = told ? [told] : content[0] === 0xff || content[0] === 0xfe ? ["utf-16"] : ["utf-8", "windows-1252"];
  for (const way of ways) {
    try {
      const label = way === "utf-16" && content[0] === 0xfe ? "utf-16be" : way;
      const text = new TextDecoder(label, { fatal: true }).decode(content);
      if (!text.includes("\0")) return [text, told || way === "utf-8" ? {} : { encoding: way }];
    } catch { /* the next way */ }
  }
  throw new Error(`${name} is not text in ${ways.join(" or ")}: save it as UTF-8.`);
}

// The lines of a text that are not empty, cell by cell, with their numbers.
function records(name, text, mark) {
  const found = [];
  let [cells, cell, quoted, line, first, any] = [[], "", false, 1, 1, false];
  const end = () => {
    cells.push(cell);
    if (any || cells.length > 1) found.push([first, cells]);
    [cells, cell, any] = [[], "", false];
  };
  for (let k = 0; k < text.length; k += 1) {
    const c = text[k];
    if (quoted) {
      if (c === '"' && text[k + 1] === '"') { cell += '"'; k += 1; } else if (c === '"') quoted = false;
      else cell += c;
      if (c === "\n") line += 1;
    } else if (c === '"' && !cell) { quoted = true; any = true; } else if (c === mark) { cells.push(cell); cell = ""; any = true; } else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[k + 1] === "\n") k += 1;
      end();
      line += 1;
      first = line;
    } else { cell += c; any = true; }
  }
  if (quoted) throw new Error(`${name} line ${first} has a quote that is not closed: correct the line.`);
  end();
  if (!found.length) throw new Error(`${name} has no rows: add a row per point, as in 1.5, 2, a.`);
  const width = found[0][1].length;
  const odd = found.find(([, own]) => own.length !== width);
  if (odd) throw new Error(`${name} line ${odd[0]} has ${odd[1].length} field${odd[1].length === 1 ? "" : "s"}, but the first line has ${width}: correct the line.`);
  return found;
}

// The scene with the points of a text, and the columns that they come from. `given` has `text`, or the
// bytes of a file and its name; chosen columns and options of reading.
export function sceneOfCsv(given, scene) {
  const { name = "The text", columns: chosen = null, reading: told = {} } = given;
  const size = given.text?.length ?? given.size ?? given.content.length;
  if (size > MOST_BYTES) {
    throw new Error(`${name} has ${size.toLocaleString("en")} bytes, and this page reads at most ${MOST_BYTES.toLocaleString("en")}: remove rows, or use the `
      + `command “linsep lab FILE”, which shows the first ${MOST_POINTS} rows.`);
  }
  const [text, found] = given.text === undefined ? decoded(name, Uint8Array.from(given.content), told.encoding) : [given.text, {}];
  const top = text.trimStart().split("\n")[0].replace(/"[^"]*"/g, "");
  const mark = told.delimiter ?? ["\t", ";", ",", "|"].find((c) => top.includes(c)) ?? " ";
  if (mark !== "," && !told.delimiter) found.delimiter = mark;
  let lines = records(name, mark === " " ? text.replace(/[ \t]+/g, " ").replace(/^ | $/gm, "") : text, mark);
  const [, head] = lines[0];
  const repeats = head.some((cell, j) => !MISSING.has(cell.trim()) && lines.slice(1).some(([, own]) => own[j] === cell));
  const headed = told.header ? told.header === "yes" : (!head.some(isNumber) || TARGETS.includes(head.at(-1).trim())) && !repeats;
  const names = headed ? head.map((cell) => cell.trim()) : head.map((_, j) => `column_${j + 1}`);
  if (headed) lines = lines.slice(1);
  else if (!told.header) found.header = "no";
  const again = names.find((one, j) => names.indexOf(one) !== j);
  if (again !== undefined) throw new Error(`${name} has several columns named '${again}': rename all but one.`);
  if (!lines.length) throw new Error(`${name} has no rows: add a row per point, as in 1.5, 2, a.`);
  const numbers = numericColumns(names, lines, told, found);
  const at = chosenColumns(name, names, numbers, lines, chosen);
  const named = !numbers.has(at.label) && !lines.every(([, own]) => MISSING.has(own[at.label].trim()));
  const missing = (own, j) => (named && j === at.label ? !own[j].trim() : MISSING.has(own[j].trim()));
  const kept = lines.filter(([line, own]) => {
    const empty = [at.x, at.y, at.label].find((j) => missing(own, j));
    if (empty !== undefined && told.missing !== "drop") {
      throw new Error(`${name} line ${line}, column '${names[empty]}' has no value: fill it in or leave out such rows with “Missing values: left out”.`);
    }
    return empty === undefined;
  });
  if (!kept.length) throw new Error(`${name} has a missing value in every row: choose columns with values.`);
  const shown = kept.slice(0, MOST_POINTS);
  const places = shown.map((line) => [at.x, at.y].map((j) => numbers.get(j)[lines.indexOf(line)]));
  const [axes, moved, why] = scaledPlaces([names[at.x], names[at.y]], places, scene.settings.room, told.scale);
  const labels = kept.map(([, own]) => own[at.label].trim());
  const made = sceneOfRows(scene, axes, moved, shown.map(([line, own]) => [`${name} line ${line}`, own[at.label].trim()]), names[at.label]);
  return [made, { names, numeric: [...numbers.keys()], ...at, said: sentences(found, lines.length, kept.length, labels, why) }];
}

// The values of every column of numbers, NaN where missing.
function numericColumns(names, lines, told, found) {
  const numbers = new Map();
  const own = Object.fromEntries(["decimal", "thousands"].filter((option) => told[option]).map((option) => [option, told[option]]));
  names.forEach((one, j) => {
    const cells = lines.map(([, line]) => line[j]);
    const there = cells.filter((cell) => !MISSING.has(cell.trim()));
    const odd = there.filter((cell) => !isNumber(cell));
    const share = (how) => odd.filter((cell) => !Number.isNaN(spelledNumber(cell, how))).length;
    const how = Object.keys(own).length ? own : odd.length
      ? SPELLINGS.find((one_) => share(one_) && share(one_) + there.length - odd.length >= 0.8 * there.length) ?? {} : {};
    const values = cells.map((cell) => (MISSING.has(cell.trim()) ? NaN : spelledNumber(cell, how)));
    const all = cells.every((cell, k) => MISSING.has(cell.trim()) || !Number.isNaN(values[k]));
    if (!one || !there.length || !all) return; // a column without a name has row numbers
    numbers.set(j, values);
    if (how !== own) Object.assign(found, how);
  });
  return numbers;
}

function chosenColumns(name, names, numbers, lines, chosen) {
  if (names.length < 3) {
    throw new Error(`${name} has ${names.length} column${names.length === 1 ? "" : "s"}, and every row needs two coordinates and a class, as in 1.5, 2, a: `
      + "add columns, or check “Between columns”.");
  }
  const others = [...names.keys()].filter((j) => names[j] && !numbers.has(j));
  const few = numbers.size < 2;
  const counts = (others.slice(0, -1).length ? others.slice(0, -1) : others).map((j) => [j, lines.filter(([, own]) => isNumber(own[j])).length]);
  const [odd, most] = counts.reduce((a, b) => (b[1] > a[1] ? b : a), [-1, 0]);
  if (!chosen && most > (few ? 0 : lines.length / 2)) {
    const [line, own] = lines.find(([, cells]) => !isNumber(cells[odd]) && !MISSING.has(cells[odd].trim()));
    throw new Error(`${name} line ${line}, column '${names[odd]}' holds '${own[odd].slice(0, 60)}', not a number: correct it.`);
  }
  const numeric = [...numbers.keys()];
  const label = chosen?.label ?? others.at(-1) ?? numeric.at(-1);
  const usual = numeric.filter((j) => j !== label);
  if (usual.length < 2) {
    throw new Error(`${name} needs two numeric columns besides the class '${names[label]}', for the coordinates: add a column of numbers.`);
  }
  const [x, y] = [chosen?.x ?? usual[0], chosen?.y ?? usual[1]];
  const bad = [x, y].find((j) => !numbers.has(j));
  if (bad !== undefined) throw new Error(`Column '${names[bad]}' is not numeric: choose another column.`);
  if (new Set([x, y, label]).size < 3) throw new Error("Choose different columns for the coordinates and the class.");
  return { x, y, label };
}

// Both coordinates with mean 0 and standard deviation 1, or as they are: lines and curves have axes of
// their own, others are standardized if their deviations differ much.
function scaledPlaces(axes, places, room, scale) {
  const columns = [0, 1].map((j) => places.map((place) => place[j]));
  const [means, spreads] = [columns.map((c) => c.reduce((a, b) => a + b) / c.length), []];
  columns.forEach((c, j) => spreads.push(Math.sqrt(c.reduce((sum, v) => sum + (v - means[j]) ** 2, 0) / c.length)));
  const needed = !["line", "curve"].includes(room) && Math.max(...spreads) > MOST_UNEQUAL * Math.min(...spreads);
  if (scale === "none" || !spreads.every(Boolean) || (!scale && !needed) || places.flat().some((v) => Math.abs(v) > LARGEST)) return [axes, places, ""];
  const why = scale ? "" : `Both coordinates are standardized, since their standard deviations differ: ${
    axes.map((axis, j) => `${axis} ${short(spreads[j])}`).join(", ")}. “Scale: as in the file” in the reading options keeps the numbers.`;
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
    places[row].forEach((value, j) => {
      if (!(Math.abs(value) <= LARGEST)) {
        throw new Error(`${where}, column '${axes[j]}' holds ${value}, and the lab shows numbers from -1,000,000 to 1,000,000: rescale the column.`);
      }
    });
  });
  const shown = values.map(plain);
  const order = (name) => (isNumber(name) ? Number(name) : Infinity);
  const names = [...new Set(shown)].sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
  if (names.length > MOST_CLASSES) {
    throw new Error(`Column '${column}' has ${names.length} different values, and the lab shows at most ${MOST_CLASSES} classes: choose another column, or leave rows out.`);
  }
  const usual = ["-1", "-1,1", String(defaultNames(names.length))].includes(String(names));
  const cut = axes.map((axis, k) => axis || `column ${k + 1}`).map((axis) => (axis.length > LONGEST_NAME ? `${axis.slice(0, LONGEST_NAME - 1)}…` : axis));
  const features = cut[0] === cut[1] ? cut.map((axis, k) => `${axis.slice(0, 36)} (${k + 1})`) : cut;
  return { ...scene, points: places.map(([x, y], row) => [x + 0, y + 0, names.indexOf(shown[row])]), name: "",
    labels: usual ? [] : checkedLabels(names), features, at: 0, settings: { ...scene.settings, start: DEFAULTS.start } };
}

// How the text was read, and which rows are not shown.
function sentences(found, rows, kept, labels, why) {
  const how = Object.entries(found).map(([option, value]) => ({ encoding: `encoding ${value}`, delimiter: `${worded("delimiter", value)} between columns`,
    decimal: `decimal ${value === "," ? "comma" : "point"}`, thousands: `${worded("thousands", value)} between thousands`,
    units: "percent signs and currencies removed", header: "line 1 as a point" })[option]);
  const classes = [new Set(labels.slice(0, MOST_POINTS)).size, new Set(labels).size];
  const few = classes[0] < classes[1] ? `, with ${classes[0]} of ${classes[1]} classes` : "";
  const left = rows - kept;
  return [...(how.length ? [`Read with: ${how.join(", ")}.`] : []),
    ...(kept > MOST_POINTS ? [`The first ${MOST_POINTS} of ${kept.toLocaleString("en")} rows are shown${few}.`] : []),
    ...(left ? [`${left} row${left === 1 ? " has a missing value and is" : "s have a missing value and are"} left out.`] : []), ...(why ? [why] : [])];
}
