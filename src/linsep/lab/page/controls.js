// Controls: one for each setting of the learner in use.

import { make } from "./dom.js";
import { Generator } from "./generator.js";

const WORDS = { classes: "classes", soft: "soft margin", line: "least squares", curve: "logistic curve",
  bayes: "naive Bayes", descent: "gradient descent", bowl: "round bowl", valley: "narrow valley",
  "two-minima": "two minima", bend: "bent valley (Rosenbrock)",
  "squared-error": "squared error of the points", likelihood: "likelihood of the points",
  poly: "polynomial", rbf: "radial basis",
  inverse: "rate / k", inverse_sqrt: "rate / \u221Ak", ovr: "one-vs-rest",
  ovo: "one-vs-one", native: "joint rule", vote: "vote", best: "best so far" };

// The name and the bytes of a file; of a larger one only its size.
async function sentFile(file, most) {
  const { name, size } = file;
  return size > most ? { name, size } : { name, content: new Uint8Array(await file.arrayBuffer()) };
}

export class Controls {
  constructor(lab) {
    this.lab = lab;
    this.ready = make("select", { id: "ready", "aria-label": "Points", onchange: () => lab.open(this.ready.value) });
    this.fields = make("div", { class: "fields" });
    this.paste = make("textarea", { rows: 4, placeholder: "x, y, class\n1.5, 2, a\n3, 1.2, b",
      "aria-label": "Points as CSV" });
    this.columns = make("div", { id: "columns", "aria-live": "polite" });
    const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", "aria-label":
      "CSV file", onchange: async () => {
      const [chosen] = file.files;
      if (chosen) this.use(await sentFile(chosen, lab.limits.file));
      file.value = "";
    } });
    this.own = make("details", { class: "own" }, make("summary", {}, "Your own points"),
      make("p", {}, "Click in the plane, or paste columns of numbers and a class:"), this.paste,
      make("div", { class: "row" }, make("button", { type: "button",
        onclick: () => this.use({ text: this.paste.value }) }, "Use"), file), this.columns);
    this.node = make("section", { class: "card controls", "aria-label": "Settings" },
      lab.lessons.node,
      make("label", { class: "field" }, make("span", {}, "Points"), this.ready), this.own,
      new Generator(lab).node, this.fields);
  }

  start() {
    const groups = [...new Set(this.lab.ready.map(({ group }) => group))];
    const options = groups.map((label) => make("optgroup", { label }, ...this.lab.ready
      .filter(({ group }) => group === label)
      .map(({ name, title }) => make("option", { value: name }, title))));
    this.ready.replaceChildren(make("option", { value: "", disabled: true }, "your own points"),
      ...options);
  }

  use(given) {
    this.given = given;
    this.load(null);
  }

  // Load it, with chosen columns; after a fault nothing changes.
  load(columns) { this.lab.show("load", { ...this.given, columns, scene: this.lab.scene }, { at: 0, fit: true }); }

  loaded({ names, numeric, said, ...at }) {
    const menu = (title, value, choices, change) => {
      const select = make("select", { "aria-label": title, onchange: () => this.load({ ...at, ...change(select.value) }) },
        ...choices.map(([key, name]) => make("option", { value: key }, name)));
      select.value = value;
      return make("label", { class: "field" }, make("span", {}, title), select);
    };
    const { x, y, label, scale } = at;
    const of = (list) => list.map((j) => [j, names[j]]);
    const numbers = of(numeric.filter((j) => j !== label));
    const other = (j, than) => (j === than ? numbers.find(([k]) => k !== than)[0] : j);
    this.columns.replaceChildren(
      menu("Horizontal", x, numbers, (value) => ({ x: Number(value), y: other(y, Number(value)) })),
      menu("Vertical", y, numbers, (value) => ({ x: other(x, Number(value)), y: Number(value) })),
      menu("Class", label, of(names.map((_, j) => j)), (value) => ({ label: Number(value),
        ...([x, y].includes(Number(value)) ? { x: undefined, y: undefined } : {}) })),
      menu("Scale", scale, [["", "as needed"], ["none", "as in the file"], ["standard", "standardized"]], (value) => ({ scale: value })),
      ...said.map((text) => make("p", { class: "status" }, text)));
  }

  scene() {
    const { scene, fields } = this.lab;
    if (scene.name) this.columns.replaceChildren();
    this.ready.value = scene.name;
    const used = fields.filter((field) => this.used(field));
    if (String(used.map(({ name }) => name)) !== String(this.names)) {
      this.names = used.map(({ name }) => name);
      const busy = this.fields.contains(document.activeElement) ? document.activeElement.id : null;
      this.controls = used.map((field) => this.control(field));
      this.fields.replaceChildren(...this.controls.map(([node]) => node));
      if (busy) this.fields.querySelector(`#${busy}`)?.focus();
    }
    const { settings } = this.lab.latest();
    this.controls.forEach(([, show], k) => show(settings[this.names[k]]));
  }

  used(field) {
    const { scene, run } = this.lab;
    const { learner, kernel, room } = scene.settings;
    if (!field.rooms.includes(room)) return false;
    if (room !== "classes") return true;
    if (field.usedBy.length && !field.usedBy.includes(learner)) return false;
    if (field.name === "classes") return run ? run.present.length > 2 : false;
    if (field.name === "seed") return scene.settings.shuffle;
    if (field.name === "degree") return kernel === "poly";
    if (field.name === "width") return ["poly", "rbf"].includes(kernel);
    if (field.name === "keep") return learner !== "kernel";
    return true;
  }

  // The element of a setting, and the function that shows a value in it.
  control(field) {
    const { name, label, help: title, word, size, low: min, high: max } = field;
    const id = `set-${name}`;
    const send = (value, how) => this.lab.changeSetting(name, value, how);
    if (field.kind === "yes or no") {
      const input = make("input", { id, type: "checkbox", onchange: () => send(input.checked) });
      return [make("label", { class: "check", title }, input, label), (value) => { input.checked = value; }];
    }
    if (field.kind === "choice") {
      const select = make("select", { id, title, "aria-label": label, onchange: () => send(select.value) },
        ...field.choices.map((value) => make("option", { value }, field.titles[value] ?? WORDS[value] ?? value)));
      return [make("label", { class: "field" }, make("span", {}, label), select), (value) => { select.value = value; }];
    }
    const inputs = Array.from({ length: size }, (_, k) => make("input", { type: "number", step: "any", min, max, title, placeholder: word,
      id: size > 1 ? `${id}-${k}` : id, "aria-label": size > 1 ? `${label} ${["b", "w1", "w2"][k]}` : label, onchange: ({ target }) => {
        const typed = target.valueAsNumber;
        // an empty input stands for the word that is valid in place of a number, if there is one
        if (!Number.isFinite(typed) && !word) target.value = target.defaultValue;
        else if (size === 1) send(Number.isFinite(typed) ? typed : word);
        else send(this.lab.latest().settings[name].map((old, j) => (j === k ? typed : old)));
      } }));
    const slides = (final) => send(Number((10 ** slider.valueAsNumber).toPrecision(3)), { final });
    // the slider of a number has a logarithmic scale
    const slider = make("input", { type: "range", min: Math.log10(min), max: Math.log10(max), step: 0.005, id: `slide-${name}`,
      "aria-label": `${label}, slider`, oninput: () => slides(false), onchange: () => slides(true) });
    return [make("div", { class: "field" }, make("span", {}, label), make("div", { class: "row" }, ...inputs), ...(field.slider ? [slider] : [])),
      (value) => {
        [value].flat().forEach((shown, k) => { inputs[k].defaultValue = shown === word ? "" : shown; inputs[k].value = inputs[k].defaultValue; });
        if (field.slider) slider.value = Math.log10(value);
      }];
  }
}
