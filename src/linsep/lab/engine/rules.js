// The update of each learner on one example, as in its paper. A machine is one binary classifier, an
// example its features `x` and constant features `ones`; the target y is -1 or +1, s the score.

export class Machine {
  constructor(weights, intercept) {
    Object.assign(this, { weights: [...weights], intercept: [...intercept], updates: 0, waiting: [] });
  }

  // Add `amount` times an example to the weights.
  add({ x, ones }, amount) {
    this.weights = moved(this.weights, x, amount);
    this.intercept = moved(this.intercept, ones, amount);
  }

  get length() { return Math.hypot(...this.weights, ...this.intercept); }
}

export const moved = (w, x, amount) => w.map((p, j) => p + amount * x[j]);

// The probability of every class at a place, by weights of naive Bayes.
export function probabilities(weights, x, y) {
  const scores = weights.map(([b, u, v]) => b + u * x + v * y);
  const parts = scores.map((score) => Math.exp(score - Math.max(...scores)));
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
}

const whole = ({ x, ones }) => [...x, ...ones];

// What rules have in common. Some have more: `check` a row, `asks` for an update without a mistake, the
// `margin` that it compares, what to do at `endPass`, and whether to begin `again` with another rule.
class Rule {
  constructor(settings) { Object.assign(this, settings); }

  get zeros() { return "mistake"; }

  first() { return [0, 0]; }
}

// The learning rate of update k.
export const rateOf = (rate, schedule, k) => ({ constant: rate, inverse: rate / k, inverse_sqrt: rate / Math.sqrt(k) })[schedule];

class Perceptron extends Rule {
  get zeros() { return this.zero; }

  update(machine, example, y) {
    machine.add(example, rateOf(this.rate, this.schedule, machine.updates + 1) * y);
    return true;
  }
}

class Batch extends Perceptron {
  get batch() { return true; }

  update(machine, example, y) { machine.waiting.push([y, example]); return false; }

  endPass(machine) {
    if (!machine.waiting.length) return false;
    const total = new Machine(machine.weights.map(() => 0), machine.intercept.map(() => 0));
    machine.waiting.forEach(([y, example]) => total.add(example, y));
    machine.waiting = [];
    machine.add({ x: total.weights, ones: total.intercept }, rateOf(this.rate, this.schedule, machine.updates + 1));
    return true;
  }
}

class Margin extends Rule {
  get aim() { return this.gamma === "auto" ? 0.5 ** ((this.halvings ?? 0) + 1) : this.gamma; }

  check(row, x, one) {
    if (!one && x.every((v) => v === 0)) throw new Error(`Point ${row + 1} is at 0 and has no margin: move it.`);
  }

  asks(machine, example, y, s) {
    return (y * s) / Math.hypot(...whole(example)) < 0.5 * this.aim * machine.length;
  }

  margin(machine, example, y, s) {
    const size = Math.hypot(...whole(example)) * machine.length;
    return size ? [(y * s) / size, 0.5 * this.aim] : [0, 0];
  }

  update(machine, example, y) { machine.add(example, y / Math.hypot(...whole(example))); return true; }

  // A restart with half the target, which a machine with too many updates has disproved.
  again(machines) {
    const most = (2 / (0.5 * this.aim) ** 2) * (1 + 1e-9);
    if (this.gamma !== "auto" || machines.every(({ updates }) => updates <= most)) return null;
    return new Margin({ ...this, halvings: (this.halvings ?? 0) + 1 });
  }
}

//: weights of Winnow are kept between 1 / MOST and MOST
const MOST = 1e150;

class Winnow extends Rule {
  first(d, joint) { return [1, joint ? 0 : -d / 2]; }

  check(row, x) {
    if (x.some((v) => v < 0)) {
      throw new Error(`Point ${row + 1} has a negative coordinate, which Winnow does not allow: use balanced Winnow.`);
    }
  }

  update(machine, { x }, y) {
    machine.weights = machine.weights.map((w, j) => (
      x[j] ? Math.min(Math.max(w * this.promotion ** (y * x[j]), 1 / MOST), MOST) : w));
    return true;
  }
}

class BalancedWinnow extends Rule {
  update(machine, { x, ones }, y) {
    const [most, factor] = [Math.log(MOST), Math.log(this.promotion)];
    const multiplied = (w, power) => (power === 0 ? w
      : 2 * Math.sinh(Math.min(Math.max(Math.asinh(w / 2) + power * factor, -most), most)));
    machine.weights = machine.weights.map((w, j) => multiplied(w, y * x[j]));
    machine.intercept = machine.intercept.map((b, j) => multiplied(b, y * ones[j]));
    return true;
  }
}

// The kernel of two points.
export function kernelValue({ kernel, width, degree }, [x, y], [u, v]) {
  return kernel === "linear" ? x * u + y * v : kernel === "all-subsets" ? (1 + x * u) * (1 + y * v)
    : kernel === "poly" ? (width * (x * u + y * v) + 1) ** degree : Math.exp(-width * ((x - u) ** 2 + (y - v) ** 2));
}

// A row is its kernel values with all rows, then its unit vector, by which a mistake finds its weight.
class KernelPerceptron extends Rule {
  update(machine, { x }, y) {
    const n = x.length / machine.intercept.length / 2;
    for (let start = 0; start < x.length; start += 2 * n) {
      for (let j = 0; j < n; j += 1) machine.weights[start + j] += y * x[start + n + j];
    }
    return true;
  }
}

//: by the name of a learner
export const RULES = { perceptron: Perceptron, batch: Batch, margin: Margin, winnow: Winnow,
  "balanced-winnow": BalancedWinnow, kernel: KernelPerceptron };
