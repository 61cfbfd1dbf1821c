// Export: the URL, pictures, the table, a script, and the page with this setup in it.

import { download, make, makeSvg, set } from "./dom.js";

const KEPT_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
  "fill-opacity", "stroke-opacity", "font-size", "font-family", "font-weight", "paint-order",
  "stroke-linejoin", "display", "visibility"];
//: formats of tables and the endings of their files
const TABLES = { CSV: "csv", Markdown: "md", LaTeX: "tex" };

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
    this.prove = button("Proof", () => this.proof());
    this.node = make("section", { class: "card sharing", role: "group", "aria-label": "Export" }, make("h2", {}, "Export"),
      button("Copy link", () => this.copy(location.href)), button("PNG", () => this.png()),
      button("SVG", () => download("plane.svg", this.picture()[0], "image/svg+xml")),
      button("Points", () => this.engine("points", ({ text }) => download("points.csv", text, "text/csv"))),
      ...Object.keys(TABLES).map((name) => button(name, () => this.table(name))),
      button("Python", () => this.engine("script", ({ text }) => { this.script.value = text; this.box.showModal(); })), this.prove,
      button("HTML", () => download("lab.html", lab.connection.saved(location.hash.slice(1)), "text/html")), this.says, this.box);
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

  async engine(kind, use) {
    const answer = await this.lab.ask(kind, { scene: this.lab.scene });
    if (answer.fault) this.lab.fail(answer.fault); else use(answer);
  }

  table(format) {
    if (!this.lab.run && !this.lab.fit) { this.lab.fail(this.lab.idle); return; }
    download(`steps.${TABLES[format]}`, this.lab.table.text(format.toLowerCase()), "text/plain");
  }

  proof() {
    this.engine("certificate", ({ proof, points, target }) => {
      download("proof.json", proof, "application/json");
      download("points.csv", points, "text/csv");
      this.say(`Check it: python -m linsep.check proof.json points.csv --target ${target}`);
    });
  }

  // What is written below the plane: lines, and signs with their texts that are placed beside each other.
  below() {
    const { says, status, legend } = this.lab.plane;
    const hints = ["bayes", "descent"].includes(this.lab.scene.settings.room);
    const lines = [says, ...(hints ? [] : [status])].filter((node) => node.textContent.trim());
    const signs = [...legend.node.children].filter((item) => item.checkVisibility());
    return [...lines.map((node) => [node, null]), ...signs.map((item) => [item, item.querySelector("svg")])];
  }

  // The picture of the plane in light colors with all styles inside it, what is written below it, and its
  // height.
  picture() {
    const { classList } = this.lab.node;
    classList.add("light");
    const { svg, width, height, frame } = this.lab.plane;
    const copy = styled(svg);
    const paper = getComputedStyle(frame).backgroundColor;
    let [x, y] = [8, height];
    const texts = this.below().flatMap(([node, sign]) => {
      const wide = 46 + 7 * node.textContent.length;
      if (!sign || x === 8 || x + wide > width) [x, y] = [8, y + 22];
      const text = makeSvg("text", { x: sign ? x + 28 : x, y, fill: getComputedStyle(node).color, "font-size": sign ? 12 : 14,
        "font-family": "sans-serif" }, node.textContent.trim());
      if (!sign) return [text];
      const drawn = styled(sign);
      set(drawn, { x, y: y - 14 });
      x += wide;
      return [drawn, text];
    });
    classList.remove("light");
    const whole = y + 18;
    copy.append(makeSvg("rect", { y: height, width, height: whole - height, fill: paper }), ...texts);
    set(copy, { xmlns: "http://www.w3.org/2000/svg", width, height: whole, viewBox: `0 0 ${width} ${whole}` });
    const text = new XMLSerializer().serializeToString(copy);
    return [text.replace(/^(<svg[^>]*>)/, `$1<rect width="100%" height="100%" fill="${paper}"/>`), whole];
  }

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

  // Proofs are saved of two classes in the plane.
  scene() {
    const { run } = this.lab;
    this.prove.classList.toggle("hidden", !run || run.kernel || run.present.length > 2);
  }
}
