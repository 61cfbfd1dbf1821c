// Where each class is predicted and the curves between, where no single line shows them: several
// classes, votes and kernels.
//
// Sides are computed at the nodes of a grid and at the points; sums over rounds are kept for the
// position that is shown and moved forward or back from there. Where two neighbors differ, the
// place between them is found by halving.

const CELL = 6;
const HALVINGS = 5;

export function kernelValue({ kernel, width, degree }, [x, y], [u, v]) {
  return kernel === "rbf" ? Math.exp(-width * ((x - u) ** 2 + (y - v) ** 2)) : (width * (x * u + y * v) + 1) ** degree;
}

export class Regions {
  constructor(run, scene, scale, keep = scene.settings.keep) {
    Object.assign(this, { run, scene, scale, keep, at: 0 });
    this.columns = Math.max(1, Math.round(scale.width / CELL));
    this.rows = Math.max(1, Math.round(scale.height / CELL));
    this.cell = [scale.width / this.columns, scale.height / this.rows];
    this.across = this.columns + 1;
    this.nodes = this.across * (this.rows + 1);
    this.sites = new Float64Array(2 * (this.nodes + scene.points.length));
    for (let k = 0; k < this.nodes; k += 1) this.sites.set(scale.back(...this.pixel(k)), 2 * k);
    scene.points.forEach(([x, y], j) => this.sites.set([x, y], 2 * (this.nodes + j)));
    this.sums = Array.from({ length: run.nVectors },
      () => new Float64Array(this.nodes + scene.points.length));
    this.products = new Map();
    this.duals = Array.from({ length: run.nVectors }, () => new Float64Array(scene.points.length));
    this.scores = new Array(run.nVectors).fill(0);
    if (this.votes) this.collectVersions();
  }

  get votes() { return !this.run.kernel && this.keep === "vote"; }

  pixel(node) {
    return [(node % this.across) * this.cell[0], Math.floor(node / this.across) * this.cell[1]];
  }

  // Weights with the rounds that they lasted.
  collectVersions() {
    this.versions = [];
    for (let t = 1; t <= this.run.rounds; t += 1) {
      const weights = this.run.allWeightsAt(t);
      const last = this.versions[this.versions.length - 1];
      if (last && String(last.weights) === String(weights)) last.end = t;
      else this.versions.push({ weights, from: t - 1, end: t });
    }
  }

  // Move the sums to a position.
  move(t) {
    if (!this.run.kernel && !this.votes) { this.linear(t); this.at = t; return; }
    const step = this.run.kernel ? this.addDuals : this.addVotes;
    for (; this.at < t; this.at += 1) step.call(this, this.at, 1);
    for (; this.at > t; this.at -= 1) step.call(this, this.at - 1, -1);
  }

  linear(t) {
    this.run.allWeightsAt(t, this.keep).forEach(([b, w1, w2], vector) => {
      const sums = this.sums[vector];
      for (let k = 0; k < sums.length; k += 1) {
        sums[k] = b + w1 * this.sites[2 * k] + w2 * this.sites[2 * k + 1];
      }
    });
  }

  addVotes(round, sign) {
    this.run.allWeightsAt(round + 1).forEach(([b, w1, w2], vector) => {
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
      this.duals[vector][row] += sign * change;
      for (let k = 0; k < sums.length; k += 1) sums[k] += sign * change * product[k];
    }
  }

  kernel(row, u, v) { return kernelValue(this.scene.settings, this.scene.points[row], [u, v]); }

  // The kernel of a point with every site.
  product(row) {
    if (!this.products.has(row)) {
      const found = new Float64Array(this.sites.length / 2);
      for (let k = 0; k < found.length; k += 1) {
        found[k] = this.kernel(row, this.sites[2 * k], this.sites[2 * k + 1]);
      }
      this.products.set(row, found);
    }
    return this.products.get(row);
  }

  sideOfSite(k) {
    for (let v = 0; v < this.sums.length; v += 1) this.scores[v] = this.sums[v][k];
    return this.run.sideOf(this.scores);
  }

  sideOfPoint(row) { return this.sideOfSite(this.nodes + row); }

  // The side of any place of the plane.
  sideAt(x, y) {
    const { scores } = this;
    if (this.run.kernel) {
      this.duals.forEach((duals, v) => {
        scores[v] = 0;
        for (let j = 0; j < duals.length; j += 1) {
          if (duals[j]) scores[v] += duals[j] * this.kernel(j, x, y);
        }
      });
      return this.run.sideOf(scores);
    }
    if (!this.votes) {
      this.run.allWeightsAt(this.at, this.keep).forEach(([b, w1, w2], v) => {
        scores[v] = b + w1 * x + w2 * y;
      });
      return this.run.sideOf(scores);
    }
    scores.fill(0);
    for (const { weights, from, end } of this.versions) {
      if (from >= this.at) break;
      const lasted = Math.min(end, this.at) - from;
      weights.forEach(([b, w1, w2], v) => {
        scores[v] += b + w1 * x + w2 * y > 0 ? lasted : -lasted;
      });
    }
    return this.run.sideOf(scores);
  }

  // The pixel between two neighboring nodes where the side changes.
  crossing(first, second) {
    const key = first * 2 + (second - first === 1 ? 0 : 1);
    if (this.crossings.has(key)) return this.crossings.get(key);
    let [low, high] = [this.pixel(first), this.pixel(second)];
    const side = this.sides[first];
    for (let k = 0; k < HALVINGS; k += 1) {
      const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
      if (this.sideAt(...this.scale.back(...middle)) === side) low = middle; else high = middle;
    }
    const found = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.crossings.set(key, found);
    return found;
  }

  // The areas of the classes present and the curves between them at a position, as SVG paths.
  paths(t) {
    this.move(t);
    this.crossings = new Map();
    this.sides = new Int8Array(this.nodes);
    for (let k = 0; k < this.nodes; k += 1) this.sides[k] = this.sideOfSite(k);
    this.settleTies();
    const areas = this.run.present.map(() => []);
    const curves = [];
    for (let row = 0; row < this.rows; row += 1) this.addRow(row, areas, curves);
    return { areas: areas.map((parts) => parts.join("")), curve: curves.join("") };
  }

  // A tie at a node, but not around it, is on a boundary: the node goes to an area beside it.
  settleTies() {
    const { across, sides, cell } = this;
    const before = sides.slice();
    for (let k = 0; k < this.nodes; k += 1) {
      const near = [k - 1, k + 1, k - across, k + across];
      if (before[k] >= 0 || !near.some((node) => before[node] >= 0)) continue;
      const [x, y] = this.pixel(k);
      const beside = [1, -1].map((sign) => this.sideAt(...this.scale.back(x + sign * 0.37 * cell[0],
        y + sign * 0.21 * cell[1])));
      if (Math.min(...beside) >= 0) [sides[k]] = beside;
    }
  }

  addRow(row, areas, curves) {
    const { across, sides, cell } = this;
    let from = 0;
    const close = (to) => {
      const side = sides[row * across + from];
      if (to > from && side >= 0) {
        areas[side].push(`M${text([from * cell[0], row * cell[1]])}h${
          text([(to - from) * cell[0]])}v${text([cell[1]])}h${text([(from - to) * cell[0]])}z`);
      }
    };
    for (let column = 0; column < this.columns; column += 1) {
      const k = row * across + column;
      const corners = [k, k + 1, k + across + 1, k + across];
      const mixed = corners.some((node) => sides[node] !== sides[k]);
      if (mixed || sides[k] !== sides[row * across + from]) { close(column); from = column; }
      if (mixed) { this.addCell(corners, areas, curves); from = column + 1; }
    }
    close(this.columns);
  }

  // A cell between several areas: they meet on a line between two crossings, else in its middle.
  addCell(corners, areas, curves) {
    const around = corners.map((node, j) => {
      const next = corners[(j + 1) % 4];
      return this.sides[node] === this.sides[next] ? null
        : this.crossing(Math.min(node, next), Math.max(node, next));
    });
    const crossings = around.filter(Boolean);
    const middle = crossings.length > 2
      ? [0, 1].map((axis) => crossings.reduce((sum, p) => sum + p[axis], 0) / crossings.length) : null;
    curves.push(...(middle ? crossings.map((p) => `M${text(p)}L${text(middle)}`)
      : [`M${text(crossings[0])}L${text(crossings[1])}`]));
    const first = around.findIndex(Boolean);
    let polygon = [around[first]];
    for (let step = 1; step <= 4; step += 1) {
      const j = (first + step) % 4;
      polygon.push(this.pixel(corners[j]));
      if (around[j]) {
        const side = this.sides[corners[j]];
        polygon.push(around[j], ...(middle ? [middle] : []));
        if (side >= 0) areas[side].push(`M${polygon.map(text).join("L")}z`);
        polygon = [around[j]];
      }
    }
  }
}

function text(numbers) { return numbers.map((x) => Math.round(x * 100) / 100).join(","); }
