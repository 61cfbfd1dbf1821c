// Export: the URL, pictures, the table, a script, and the page with this setup in it.

import { download, make, makeSvg, set } from "./dom.js";

const KEPT_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
  "fill-opacity", "stroke-opacity", "font-size", "font-family", "font-weight", "paint-order",
  "stroke-linejoin", "display", "visibility"];
const TABLES = { csv: ["steps.csv", "text/csv"], markdown: ["steps.md", "text/markdown"], latex: ["steps.tex", "text/plain"] };

// A copy of a picture with the styles of the page inside it.
function styled(svg) {
  const copy = svg.cloneNode(true);
  const [mine, theirs] = [copy.querySelectorAll("*"), svg.querySelectorAll("*")];
  theirs.forEach((node, place) => {
    const style = getComputedStyle(node);
    KEPT_STYLES.forEach((name) => {
      mine[place].removeAttribute(name);
      mine[place].style.setProperty(name, style.getPropertyValue(name));
    });
  });
  return copy;
}

export class Sharing {
  constructor(lab) {
    this.lab = lab;
    this.says = make("span", { class: "said", role: "status" });
    const button = (label, action) => make("button", { type: "button", onclick: action }, label);
    this.script = make("textarea", { class: "script", rows: 12, readonly: true,
      "aria-label": "Python script" });
    this.box = make("dialog", { class: "dialog", "aria-label": "Python script" },
      make("h2", {}, "Python script"), this.script, make("div", { class: "row" },
        button("Copy", () => this.copy(this.script.value)),
        button("Save", () => download("lab.py", this.script.value, "text/x-python")),
        button("Close", () => this.box.close())));
    const proof = button("Proof", () => this.proof());
    proof.classList.add("of-runs");
    this.node = make("section", { class: "card sharing", role: "group", "aria-label": "Export" },
      make("h2", {}, "Export"),
      button("Copy link", () => this.copy(location.href)), button("PNG", () => this.png()), button("SVG", () => this.svg()),
      button("Points", () => this.points()), ...["CSV", "Markdown", "LaTeX"].map((name) => button(name, () => this.table(name.toLowerCase()))),
      button("Python", () => this.python()), proof, button("HTML", () => this.html()), this.says, this.box);
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

  async asked(kind) {
    const answer = await this.lab.ask(kind, { scene: this.lab.scene });
    if (answer.fault) this.lab.fail(answer.fault);
    return answer.fault ? null : answer.text;
  }

  table(format) {
    if (!this.lab.run && !this.lab.fit) { this.lab.fail(this.lab.idle); return; }
    const [name, type] = TABLES[format];
    download(name, this.lab.table.text(format), type);
  }

  // The points as CSV, which "Your own points" reads.
  async points() {
    const text = await this.asked("points");
    if (text !== null) download("points.csv", text, "text/csv");
  }

  async python() {
    const text = await this.asked("script");
    if (text === null) return;
    this.script.value = text;
    this.box.showModal();
  }

  html() { download("lab.html", this.lab.connection.saved(location.hash.slice(1)), "text/html"); }

  // The proof of the verdict with its points.
  async proof() {
    const answer = await this.lab.ask("certificate", { scene: this.lab.scene });
    if (answer.fault) { this.lab.fail(answer.fault); return; }
    download("proof.json", answer.proof, "application/json");
    download("points.csv", answer.points, "text/csv");
    this.say(`Check it: python -m linsep.check proof.json points.csv --target ${answer.target}`);
  }

  // The text below the plane, as lines of a picture.
  caption() {
    const { says, status, kept, width, height } = this.lab.plane;
    const color = (node) => getComputedStyle(node).color;
    const hints = ["bayes", "descent"].includes(this.lab.scene.settings.room);
    const lines = [says, ...(hints ? [] : [status])].filter((node) => node.textContent.trim());
    const found = lines.map((node, k) => makeSvg("text", { x: 8, y: height + 20 * (k + 1),
      fill: color(node), "font-size": 14, "font-family": "sans-serif" }, node.textContent));
    let [x, y] = [8, height + 20 * (lines.length + 1)];
    for (const entry of kept.legend.checkVisibility() ? kept.legend.children : []) {
      const style = getComputedStyle(entry.querySelector("line"));
      const wide = 48 + 7 * entry.textContent.length;
      if (x > 8 && x + wide > width) [x, y] = [8, y + 20];
      found.push(makeSvg("line", { x1: x, x2: x + 26, y1: y - 4, y2: y - 4, stroke: style.stroke,
        "stroke-width": style.strokeWidth, "stroke-dasharray": style.strokeDasharray }),
      makeSvg("text", { x: x + 30, y, fill: color(entry), "font-size": 12,
        "font-family": "sans-serif" }, entry.textContent.trim()));
      x += wide;
    }
    return [found, Math.max(...found.map((node) => Number(node.getAttribute("y") ?? 0)), height) + 10];
  }

  // The legend of the plane, in lines of a picture from a height on; returns the next height.
  legendAt(y, found) {
    const { legend, width } = this.lab.plane;
    let x = 8;
    for (const item of legend.node.children) {
      if (!item.checkVisibility()) continue; // eslint-disable-line no-continue
      const wide = 46 + 7 * item.textContent.length;
      if (x > 8 && x + wide > width) [x, y] = [8, y + 22];
      const sign = styled(item.querySelector("svg"));
      set(sign, { x, y: y - 14, xmlns: "http://www.w3.org/2000/svg" });
      found.push(sign, makeSvg("text", { x: x + 28, y, "font-size": 12, "font-family": "sans-serif",
        fill: getComputedStyle(item).color }, item.textContent));
      x += wide;
    }
    return legend.node.childElementCount ? y + 22 : y;
  }

  // The picture of the plane in light colors with all styles inside it, its legend and caption, and
  // its height.
  picture() {
    const { classList } = this.lab.node;
    classList.add("light");
    const { svg, width, height } = this.lab.plane;
    const copy = styled(svg);
    const paper = getComputedStyle(this.lab.plane.frame).backgroundColor;
    const [caption, told] = this.caption();
    const whole = this.legendAt(told + 14, caption) - 4;
    classList.remove("light");
    const below = makeSvg("rect", { y: height, width, height: whole - height, fill: paper });
    copy.append(below, ...caption);
    set(copy, { xmlns: "http://www.w3.org/2000/svg", width, height: whole,
      viewBox: `0 0 ${width} ${whole}` });
    const text = new XMLSerializer().serializeToString(copy);
    return [text.replace(/^(<svg[^>]*>)/, `$1<rect width="100%" height="100%" fill="${paper}"/>`), whole];
  }

  svg() { download("plane.svg", this.picture()[0], "image/svg+xml"); }

  async png() {
    const { width } = this.lab.plane;
    const [text, height] = this.picture();
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    download("plane.png", canvas.toDataURL("image/png"), "image/png");
  }

  scene() {}

  at() {}
}
