// Take home: the address, pictures, the table, a script, and a page that needs no server.

import { download, make } from "./dom.js";
import { ink } from "./looks.js";

const KEPT_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
  "fill-opacity", "stroke-opacity", "font-size", "font-family", "display", "visibility"];
const TABLES = { csv: ["rounds.csv", "text/csv"], markdown: ["rounds.md", "text/markdown"],
  latex: ["rounds.tex", "text/plain"] };

export class Sharing {
  constructor(lab) {
    this.lab = lab;
    this.says = make("span", { class: "said", role: "status" });
    const button = (label, action) => make("button", { type: "button", onclick: action }, label);
    this.script = make("textarea", { class: "script", rows: 12, readonly: true,
      "aria-label": "Python script" });
    this.box = make("dialog", { class: "dialog", "aria-label": "As Python" },
      make("h2", {}, "As Python"), this.script, make("div", { class: "row" },
        button("Copy", () => this.copy(this.script.value)),
        button("Save", () => download("lab.py", this.script.value, "text/x-python")),
        button("Close", () => this.box.close())));
    const pictures = [button("PNG", () => this.png()), button("SVG", () => this.svg())];
    const served = [button("CSV", () => this.table("csv")),
      button("Markdown", () => this.table("markdown")), button("LaTeX", () => this.table("latex")),
      button("Python", () => this.python()), button("HTML", () => this.html())];
    this.node = make("div", { class: "sharing", role: "group", "aria-label": "Take home" },
      ...(lab.still ? [] : [button("Copy link", () => this.copy(location.href))]),
      ...pictures, ...(lab.still ? [] : served), this.says, this.box);
  }

  say(text) {
    this.says.textContent = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.says.textContent = ""; }, 4000);
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied.");
    } catch {
      this.say("The browser did not allow copying.");
    }
  }

  async asked(kind, more = {}) {
    const answer = await this.lab.ask(kind, { scene: this.lab.scene, ...more });
    if (answer.fault) this.lab.fail(answer.fault);
    return answer.fault ? null : answer.text;
  }

  async table(format) {
    const text = await this.asked("table", { format });
    if (text !== null) download(...this.file(TABLES[format], text));
  }

  file([name, type], text) { return [name, text, type]; }

  async python() {
    const text = await this.asked("script");
    if (text === null) return;
    this.script.value = text;
    this.box.showModal();
  }

  async html() {
    const text = await this.asked("html");
    if (text !== null) download("run.html", text, "text/html");
  }

  // The picture of the plane with all styles inside it, shading included.
  picture() {
    const { svg, canvas, width, height } = this.lab.plane;
    const copy = svg.cloneNode(true);
    const [mine, theirs] = [copy.querySelectorAll("*"), svg.querySelectorAll("*")];
    theirs.forEach((node, place) => {
      const style = getComputedStyle(node);
      KEPT_STYLES.forEach((name) => {
        mine[place].style.setProperty(name, style.getPropertyValue(name));
      });
    });
    const paper = getComputedStyle(this.lab.plane.frame).backgroundColor;
    const first = [`<rect width="100%" height="100%" fill="${paper}"/>`];
    if (canvas.style.display !== "none") {
      first.push(`<image href="${canvas.toDataURL()}" width="${width}" height="${height}" `
        + 'preserveAspectRatio="none"/>');
    }
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("color", ink());
    const text = new XMLSerializer().serializeToString(copy);
    return text.replace(/^(<svg[^>]*>)/, `$1${first.join("")}`);
  }

  svg() { download("plane.svg", this.picture(), "image/svg+xml"); }

  async png() {
    const { width, height } = this.lab.plane;
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.picture())}`;
    await image.decode();
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    download("plane.png", canvas.toDataURL("image/png"), "image/png");
  }

  scene() {}

  at() {}
}
