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
    this.shows = make("fieldset", { class: "shows" }, make("legend", {}, "Show"));
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
      new Generator(lab).node, this.fields, this.shows);
  }

  start() {
    const groups = [...new Set(this.lab.ready.map(({ group }) => group))];
    const options = groups.map((label) => make("optgroup", { label }, ...this.lab.ready
      .filter(({ group }) => group === label)
      .map(({ name, title }) => make("option", { value: name }, title))));
    this.ready.replaceChildren(make("option", { value: "", disabled: true }, "your own points"),
      ...options);
    const show = (name, text) => make("label", { class: "check" }, make("input", {
      type: "checkbox", checked: this.lab.shows[name], "data-show": name,
      onchange: (event) => this.lab.setShown(name, event.target.checked) }), text);
    this.shows.append(show("kept", "all four lines"), show("proof", "proof in the plane"));
  }

  // Show the points of a text or a file.
  use(given) {
    this.given = given;
    this.load(null);
  }

  // Load it, with chosen columns; after a fault nothing changes.
  load(columns) { this.lab.show("load", { ...this.given, columns, scene: this.lab.scene }, { at: 0, fit: true }); }

  // Choose the columns of a text that was loaded.
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
    const { scene } = this.lab;
    if (scene.name) this.columns.replaceChildren();
    if (!this.ready.childElementCount) return;
    this.ready.value = scene.name;
    this.shows.querySelector("label").classList.toggle("hidden", !this.lab.plane.kept.possible);
    const names = this.shownNames();
    if (this.slides && names === this.names) { this.sliders.forEach((show) => show()); return; }
    this.names = names;
    this.sliders = [];
    const busy = this.fields.contains(document.activeElement) ? document.activeElement.id : null;
    this.fields.replaceChildren(...this.lab.fields.filter((field) => this.used(field))
      .map((field) => this.control(field)));
    if (busy) this.fields.querySelector(`#${busy}`)?.focus();
  }

  // While a slider is moved it stays the element that it is.
  get slides() { return this.fields.contains(document.activeElement)
    && document.activeElement.type === "range"; }

  shownNames() {
    const { settings } = this.lab.scene;
    return JSON.stringify(this.lab.fields.filter((field) => this.used(field))
      .map((field) => [field.name, field.slider || settings[field.name]]));
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
    if (field.name === "keep") return learner !== "kernel";
    return true;
  }

  control(field) {
    const value = this.lab.scene.settings[field.name];
    const id = `set-${field.name}`;
    const send = (next) => this.lab.changeSetting(field.name, next);
    if (field.kind === "yes or no") {
      return make("label", { class: "check", title: field.help }, make("input", { id,
        type: "checkbox", checked: value, onchange: (event) => send(event.target.checked) }),
      field.label);
    }
    if (field.kind === "choice") {
      const select = make("select", { id, title: field.help, "aria-label": field.label,
        onchange: () => send(select.value) },
      ...field.choices.map((name) => make("option", { value: name },
        field.titles[name] ?? WORDS[name] ?? name)));
      select.value = value;
      return make("label", { class: "field" }, make("span", {}, field.label), select);
    }
    // An empty input stands for the word that is valid in place of a number, if there is one.
    const number = (given, place, name) => make("input", { type: "number", step: "any",
      id: field.size > 1 ? `${id}-${place}` : id, value: given === field.word ? "" : given,
      min: field.low, max: field.high, placeholder: field.word,
      title: field.help, "aria-label": name, onchange: (event) => {
        const typed = event.target.valueAsNumber;
        if (!Number.isFinite(typed)) {
          if (field.word) send(field.word); else event.target.value = given;
          return;
        }
        send(field.size > 1 ? value.map((old, k) => (k === place ? typed : old)) : typed);
      } });
    const inputs = field.size > 1
      ? value.map((given, place) => number(given, place, `${field.label} ${["b", "w1", "w2"][place]}`))
      : [number(value, 0, field.label)];
    return make("div", { class: "field" }, make("span", {}, field.label),
      make("div", { class: "row" }, ...inputs), ...(field.slider ? [this.slider(field, inputs[0])] : []));
  }

  // A slider of a number, on a logarithmic scale.
  slider(field, number) {
    const [low, high] = [field.low, field.high].map(Math.log10);
    const range = make("input", { type: "range", min: low, max: high, step: 0.005,
      id: `slide-${field.name}`, "aria-label": `${field.label}, slider` });
    const send = (final) => this.lab.changeSetting(field.name,
      Number((10 ** range.valueAsNumber).toPrecision(3)), { final });
    range.addEventListener("input", () => send(false));
    range.addEventListener("change", () => send(true));
    const show = () => {
      const value = this.lab.latest().settings[field.name];
      number.value = value;
      number.defaultValue = value;
      range.value = Math.log10(value);
      range.setAttribute("aria-valuetext", value);
    };
    show();
    this.sliders.push(show);
    return range;
  }
}
