// Boxes, half-planes and ticks.

import { minus, short } from "../engine/numbers.js";

// The part of a convex polygon where b + w1 x + w2 y >= 0.
export function clipped(polygon, [b, w1, w2]) {
  const found = [];
  const height = ([x, y]) => b + w1 * x + w2 * y;
  polygon.forEach((point, place) => {
    const next = polygon[(place + 1) % polygon.length];
    const [here, there] = [height(point), height(next)];
    if (here >= 0) found.push(point);
    if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
      const share = here / (here - there);
      found.push(point.map((value, axis) => value + share * (next[axis] - value)));
    }
  });
  return found;
}

// Where the line b + w1 x + w2 y = 0 enters and leaves a box, or null.
export function chord([left, bottom, right, top], [b, w1, w2]) {
  const length = Math.hypot(w1, w2);
  if (!(length > 0)) return null;
  const [cx, cy] = [(left + right) / 2, (bottom + top) / 2];
  const away = (b + w1 * cx + w2 * cy) / length;
  const reach = Math.hypot(right - left, top - bottom);
  if (Math.abs(away) > reach) return null;
  const [ux, uy] = [w1 / length, w2 / length];
  const [fx, fy] = [cx - away * ux, cy - away * uy];
  return { from: [fx + reach * uy, fy - reach * ux], to: [fx - reach * uy, fy + reach * ux],
    foot: [fx, fy] };
}

// Where the scores of rows, over their length with a constant of `one` and that of the weights, are at most
// an aim: between the branches of a hyperbola around the line.
export function tooClose(box, weights, aim, one) {
  const found = chord(box, weights);
  const [b, ...w] = weights;
  const [length, square] = [Math.hypot(...w), (aim * Math.hypot(...weights)) ** 2];
  const rest = length ** 2 - square;
  if (!found || rest <= 0) return []; // far from the line the aim is not reached either
  const branch = (sign) => Array.from({ length: 241 }, (_, k) => {
    const place = found.from.map((v, axis) => v + (k / 240) * (found.to[axis] - v));
    const middle = (-square * b) / length;
    const away = (middle + sign * Math.sqrt(middle ** 2 + rest * square * (place[0] ** 2 + place[1] ** 2 + one))) / rest;
    return place.map((v, axis) => v + (away * w[axis]) / length);
  });
  return [...branch(1), ...branch(-1).reverse()];
}

export function corners([left, bottom, right, top]) {
  return [[left, bottom], [right, bottom], [right, top], [left, top]];
}

// Round numbers between two values, about as many as wanted.
export function ticks(low, high, wanted = 6) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

// A tick with the digits that distinguish it from the others.
export function tickText(value, all) {
  const power = (x) => Math.floor(Math.log10(Math.abs(x)) + 1e-9);
  const step = all.length > 1 ? all[1] - all[0] : value;
  return minus(short(value, value ? Math.max(1, power(value) - power(step) + 1) : 1));
}

// The least and the largest coordinate; without points there is room for some.
function endsOf(points, axis) {
  const values = points.map((point) => point[axis]);
  return points.length ? [Math.min(...values), Math.max(...values)] : [-5, 5];
}

// A box of the given shape (width / height) around points, with room on all sides.
export function boxAround(points, shape, room = 0.18) {
  const [[left, right], [bottom, top]] = [0, 1].map((axis) => endsOf(points, axis));
  const wide = points.length < 2 ? 10 : Math.max(right - left, (top - bottom) * shape, 1e-6) * (1 + 2 * room);
  const [cx, cy] = [(left + right) / 2, (bottom + top) / 2];
  return [cx - wide / 2, cy - wide / shape / 2, cx + wide / 2, cy + wide / shape / 2];
}

// A box around points whose axes have units of their own.
export function boxFree(points, room = 0.12) {
  const [[left, right], [bottom, top]] = [0, 1].map((axis) => {
    const [low, high] = endsOf(points, axis);
    const more = room * (high - low) || Math.max(1, Math.abs(low)) * room;
    return [low - more, high + more];
  });
  return [left, bottom, right, top];
}

// Maps between the units of a box and the pixels of a picture.
export class Scale {
  constructor(box, width, height) {
    Object.assign(this, { box, width, height });
    this.unit = width / (box[2] - box[0]);
    this.unitY = height / (box[3] - box[1]);
  }

  around(pixels) {
    return [...this.back(-pixels, this.height + pixels), ...this.back(this.width + pixels, -pixels)];
  }

  x(value) { return (value - this.box[0]) * this.unit; }

  y(value) { return this.height - (value - this.box[1]) * this.unitY; }

  point([x, y]) { return [this.x(x), this.y(y)]; }

  back(px, py) {
    return [this.box[0] + px / this.unit, this.box[1] + (this.height - py) / this.unitY];
  }
}
