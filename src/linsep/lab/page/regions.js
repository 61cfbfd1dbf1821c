// Scores over the plane where no single line shows them: several classes, votes and kernels.
//
// Sites are the cells of a grid, then the points. Sums over rounds are kept for the position that
// is shown and moved forward or back from there.

const CELL = 2.5;

export class Regions {
  constructor(run, scene, scale) {
    Object.assign(this, { run, scene, scale, at: 0 });
    this.columns = Math.max(1, Math.ceil(scale.width / CELL));
    this.rows = Math.max(1, Math.ceil(scale.height / CELL));
    this.cells = this.columns * this.rows;
    this.sites = new Float64Array(2 * (this.cells + scene.points.length));
    for (let k = 0; k < this.cells; k += 1) {
      const place = scale.back(((k % this.columns) + 0.5) * CELL,
        (Math.floor(k / this.columns) + 0.5) * CELL);
      this.sites.set(place, 2 * k);
    }
    scene.points.forEach(([x, y], j) => this.sites.set([x, y], 2 * (this.cells + j)));
    this.sums = Array.from({ length: run.nVectors },
      () => new Float64Array(this.cells + scene.points.length));
    this.products = new Map();
  }

  // Move the sums to a position; returns them, one array of scores per weight vector.
  scores(t) {
    const { settings } = this.scene;
    if (!this.run.kernel && settings.keep !== "vote") return this.linear(t, settings.keep);
    const move = this.run.kernel ? this.addDuals : this.addVotes;
    for (; this.at < t; this.at += 1) move.call(this, this.at, 1);
    for (; this.at > t; this.at -= 1) move.call(this, this.at - 1, -1);
    return this.sums;
  }

  linear(t, keep) {
    this.run.allWeightsAt(t, keep).forEach(([b, w1, w2], vector) => {
      const sums = this.sums[vector];
      for (let k = 0; k < sums.length; k += 1) {
        sums[k] = b + w1 * this.sites[2 * k] + w2 * this.sites[2 * k + 1];
      }
    });
    return this.sums;
  }

  addVotes(round, sign) {
    const weights = this.run.allWeightsAt(round + 1);
    weights.forEach(([b, w1, w2], vector) => {
      const sums = this.sums[vector];
      for (let k = 0; k < sums.length; k += 1) {
        sums[k] += b + w1 * this.sites[2 * k] + w2 * this.sites[2 * k + 1] > 0 ? sign : -sign;
      }
    });
  }

  addDuals(round, sign) {
    const changes = this.run.duals[round];
    for (let place = 0; place < changes.length; place += 3) {
      const [vector, row, change] = changes.slice(place, place + 3);
      const [sums, product] = [this.sums[vector], this.product(row)];
      for (let k = 0; k < sums.length; k += 1) sums[k] += sign * change * product[k];
    }
  }

  // The kernel of a point with every site.
  product(row) {
    if (this.products.has(row)) return this.products.get(row);
    const { kernel, width, degree } = this.scene.settings;
    const [x, y] = this.scene.points[row];
    const found = new Float64Array(this.sites.length / 2);
    for (let k = 0; k < found.length; k += 1) {
      const [u, v] = [this.sites[2 * k], this.sites[2 * k + 1]];
      found[k] = kernel === "rbf" ? Math.exp(-width * ((x - u) ** 2 + (y - v) ** 2))
        : (width * (x * u + y * v) + 1) ** degree;
    }
    this.products.set(row, found);
    return found;
  }

  scoresOfPoint(sums, row) {
    return sums.map((column) => column[this.cells + row]);
  }

  // The class of every cell, by the rule of run.classOf, in loops that allocate nothing.
  classes(sums) {
    const found = new Uint8Array(this.cells);
    const { classes: scheme } = this.scene.settings;
    const n = sums.length;
    const scores = new Array(n).fill(0);
    for (let k = 0; k < this.cells; k += 1) {
      if (n > 1 && scheme === "ovo") {
        for (let v = 0; v < n; v += 1) scores[v] = sums[v][k];
        found[k] = this.run.classOf(scores, scheme);
      } else if (n > 1) {
        let [best, positive, only] = [0, 0, 0];
        for (let v = 0; v < n; v += 1) {
          if (sums[v][k] > sums[best][k]) best = v;
          if (sums[v][k] > 0) { positive += 1; only = v; }
        }
        found[k] = scheme === "ovr" && positive === 1 ? only : best;
      } else {
        found[k] = sums[0][k] > 0 ? 1 : 0;
      }
    }
    return found;
  }

  // Draw the class of every cell, with a dark edge between classes; colours are [r, g, b], and
  // without them the edge is drawn alone.
  draw(canvas, t, colours, edge) {
    const sums = this.scores(t);
    const context = canvas.getContext("2d");
    if (canvas.width !== this.columns || canvas.height !== this.rows) {
      [canvas.width, canvas.height] = [this.columns, this.rows];
    }
    const image = context.createImageData(this.columns, this.rows);
    const pixels = new Uint32Array(image.data.buffer);
    const classes = this.classes(sums);
    const packed = ([r, g, b], alpha) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const fills = this.run.present.map((code) => (colours ? packed(colours[code], 70) : 0));
    const border = packed(edge, 220);
    for (let k = 0; k < this.cells; k += 1) {
      const right = (k + 1) % this.columns ? classes[k + 1] : classes[k];
      const below = k + this.columns < this.cells ? classes[k + this.columns] : classes[k];
      pixels[k] = right !== classes[k] || below !== classes[k] ? border : fills[classes[k]];
    }
    context.putImageData(image, 0, 0);
    return sums;
  }
}
