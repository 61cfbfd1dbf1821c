// Where each class is predicted and the curves between, where no single line shows them: several
// classes, votes and kernels.
//
// Sides are computed at the nodes of a fine grid and at the points; sums over steps are kept for the
// position that is shown and moved forward or back from there.

import { kernelValue } from "../engine/rules.js";

const [CELL, HALVINGS] = [3, 5];

export class Regions {
  constructor(run, scene, scale) {
    const { keep } = scene.settings;
    Object.assign(this, { run, scene, scale, votes: !run.kernel && keep === "vote", keep, at: 0 });
    this.across = Math.ceil(scale.width / CELL) + 1;
    this.nodes = this.across * (Math.ceil(scale.height / CELL) + 1);
    const sites = [...Array.from({ length: this.nodes }, (_, k) => scale.back(...this.pixel(k))), ...scene.points];
    [this.x, this.y] = [0, 1].map((axis) => Float64Array.from(sites, (site) => site[axis]));
    this.sums = Array.from({ length: run.nVectors }, () => new Float64Array(sites.length));
    this.products = new Map();
    this.scores = new Array(run.nVectors);
  }

  pixel(node) { return [(node % this.across) * CELL, Math.floor(node / this.across) * CELL]; }

  move(t) {
    if (!this.run.kernel && !this.votes) {
      this.each(this.run.allWeightsAt(t, this.keep), (_, score) => score);
      this.at = t;
    }
    for (; this.at < t; this.at += 1) this.add(this.at, 1);
    for (; this.at > t; this.at -= 1) this.add(this.at - 1, -1);
  }

  // Change every sum by the score of weights at its site.
  each(weights, changed) {
    weights.forEach(([b, w1, w2], vector) => {
      const [sums, { x, y }] = [this.sums[vector], this];
      for (let k = 0; k < sums.length; k += 1) sums[k] = changed(sums[k], b + w1 * x[k] + w2 * y[k]);
    });
  }

  // Add what a step adds to the sums: kernels of mistakes, or the votes of its weights.
  add(step, sign) {
    if (this.votes) {
      this.each(this.run.allWeightsAt(step + 1), (sum, score) => sum + (score > 0 ? sign : -sign));
      return;
    }
    const changes = this.run.duals[step];
    for (let place = 0; place < changes.length; place += 3) {
      const [vector, row, change] = changes.slice(place, place + 3);
      const [sums, product] = [this.sums[vector], this.product(row)];
      for (let k = 0; k < sums.length; k += 1) sums[k] += sign * change * product[k];
    }
  }

  product(row) {
    const { points, settings } = this.scene;
    if (!this.products.has(row)) this.products.set(row, this.x.map((x, k) => kernelValue(settings, points[row], [x, this.y[k]])));
    return this.products.get(row);
  }

  side(k) {
    for (let v = 0; v < this.sums.length; v += 1) this.scores[v] = this.sums[v][k];
    return this.run.sideOf(this.scores);
  }

  sideOfPoint(row) { return this.side(this.nodes + row); }

  // The areas of the classes present and the curves between them at a position, as SVG paths: cells as
  // runs in their rows, and lines through the edges whose ends are on different sides.
  paths(t) {
    this.move(t);
    const sides = Int8Array.from({ length: this.nodes }, (_, k) => this.side(k));
    const areas = this.run.present.map(() => []);
    const curves = [];
    let from = 0;
    for (let k = 0; k < this.nodes; k += 1) {
      const [[x, y], last] = [this.pixel(k), (k + 1) % this.across === 0];
      if (last || sides[k + 1] !== sides[k]) {
        const left = this.pixel(from)[0] - CELL / 2;
        if (sides[k] >= 0) areas[sides[k]].push(`M${left},${y - CELL / 2}H${x + CELL / 2}v${CELL}H${left}z`);
        from = k + 1;
      }
      if (!last && k + this.across < this.nodes) curves.push(...this.crossed(sides, k, x, y));
    }
    return { areas: areas.map((parts) => parts.join("")), curve: curves.join("") };
  }

  // The lines of a cell between sides: from one crossing of an edge to another, or all to its middle.
  crossed(sides, k, x, y) {
    const [right, down, both] = [k + 1, k + this.across, k + this.across + 1];
    const ends = [[k, right, 0, 0], [right, both, 1, 0], [down, both, 0, 1], [k, down, 0, 0]]
      .filter(([from, to]) => sides[from] !== sides[to]).map(([from, to, across, under]) => {
        const share = this.share(sides[from], from, to);
        return [x + CELL * (to - from === 1 ? share : across), y + CELL * (to - from === 1 ? under : share)];
      });
    if (ends.length < 3) return ends.length ? [`M${ends[0]}L${ends[1]}`] : [];
    return ends.map((end) => `M${end}L${x + CELL / 2},${y + CELL / 2}`);
  }

  // The share of the way between two nodes where the side changes, as scores change evenly.
  share(side, from, to) {
    let [low, high] = [0, 1];
    for (let k = 0; k < HALVINGS; k += 1) {
      const middle = (low + high) / 2;
      const scores = this.sums.map((sums) => sums[from] + middle * (sums[to] - sums[from]));
      if (this.run.sideOf(scores) === side) low = middle; else high = middle;
    }
    return low;
  }
}
