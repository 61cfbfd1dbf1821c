// The loop: any rule, any scheme, pass after pass, and what is kept of its weights.

import { pairsOf, SCHEMES } from "./schemes.js";

// Every step of a run: one row, its scores before, and the weights after. It ends with a pass without
// a mistake. Rows are lists of numbers; `start` has an intercept and weights for every vector.
export function* run(rule, scheme, rows, codes, k, { intercept, orders, start = null, passes = Infinity }) {
  const how = new SCHEMES[scheme](k, rule.zeros);
  const one = Number(intercept);
  const d = rows[0].length;
  const begin = (given) => {
    const [w, b] = rule.first(d, Boolean(how.joint));
    return how.machines(given ?? Array.from({ length: how.vectors }, () => [b, ...new Array(d).fill(w)]));
  };
  let machines = begin(start);
  rows.forEach((x, row) => rule.check?.(row, x, one));
  yield { weights: how.weights(machines) };
  let [rounds, attempt] = [0, 0];
  for (let pass = 0; pass < passes; pass += 1) {
    const order = orders(pass);
    let clean = true;
    for (let place = 0; place < order.length; place += 1) {
      const row = order[place];
      const [x, code] = [rows[row], codes[row]];
      const scores = how.scores(machines, x);
      const shown = how.show(machines, x, one, code);
      const margins = shown.map(({ machine, example, y, score }) => rule.margin?.(machines[machine], example, y, score))
        .filter(Boolean);
      const [mistakes, updated] = learn(rule, machines, shown);
      if (place === order.length - 1) {
        machines.forEach((machine, number) => {
          if (rule.endPass?.(machine)) { machine.updates += 1; updated.push(number); }
        });
      }
      clean &&= !mistakes;
      yield { round: rule.batch ? pass : rounds, pass, row, scores, mistakes, updates: updated.length,
        weights: how.weights(machines), tied: !how.joint && shown.some(({ score }) => score === 0), seen: shown.map(({ machine }) => machine),
        updated, attempt, margin: margins.reduce((a, b) => (a && a[0] - a[1] <= b[0] - b[1] ? a : b), null) };
      rounds += 1;
    }
    if (clean) return;
    const other = rule.again?.(machines);
    if (other) { rule = other; attempt += 1; machines = begin(null); }
  }
}

// Update the classifiers that an example asks for; the mistakes, and which of them changed.
function learn(rule, machines, shown) {
  let mistakes = 0;
  const updated = [];
  for (const { machine: number, example, y, score, wrong } of shown) {
    const machine = machines[number];
    if (!wrong && !rule.asks?.(machine, example, y, score)) continue; // eslint-disable-line no-continue
    mistakes += 1;
    if (rule.update(machine, example, y, score)) { machine.updates += 1; updated.push(number); }
  }
  return [mistakes, updated];
}

// Steps in the parts where a value changes.
function grouped(steps, of) {
  const found = [];
  steps.forEach((step) => {
    if (found.length && of(found.at(-1)[0]) === of(step)) found.at(-1).push(step);
    else found.push([step]);
  });
  return found;
}

// The mean of the weights over all rounds up to each step, per binary classifier: a rule that restarted
// forgets its earlier rounds, and a round of a batch rule is a pass.
export function averages(steps) {
  const joint = steps.every(({ seen, updated }) => Math.max(0, ...seen, ...updated) === 0);
  return grouped(steps, ({ attempt }) => attempt).flatMap((part) => {
    const sums = part[0].weights.map((vector) => vector.map(() => 0));
    const counts = sums.map(() => 0);
    return part.map((step, t) => {
      const end = part[t + 1]?.round !== step.round;
      return step.weights.map((vector, k) => {
        if (end && (joint || step.seen.includes(k) || step.updated.includes(k))) {
          counts[k] += 1;
          vector.forEach((w, j) => { sums[k][j] += w; });
        }
        return counts[k] ? sums[k].map((v) => v / counts[k]) : vector;
      });
    });
  });
}

// The pocket after every step: of the longest-lived weights and the last ones of the passes that ended,
// those with the fewest mistakes on the rows (Gallant 1990).
export function pockets(steps, rule, scheme, rows, codes, k, start) {
  const how = new SCHEMES[scheme](k, rule.zeros);
  const joined = (vectors) => how.weights(how.machines(vectors));
  const wrong = (vectors, visited) => {
    const machines = how.machines(vectors);
    const counts = machines.map(() => 0);
    visited.forEach((row) => how.show(machines, rows[row], 1, codes[row])
      .forEach(({ machine, wrong: is }) => { counts[machine] += is; }));
    return counts;
  };
  const part = (vectors, number) => (how.joint ? vectors : vectors[number]);
  let before = start;
  return grouped(steps, ({ attempt }) => attempt).flatMap((tried) => {
    let [best, fewest] = [null, null];
    const visited = [...new Set(tried.map(({ row }) => row))];
    const lives = how.machines(start).map(() => []);
    return grouped(tried, ({ pass }) => pass).flatMap((inPass) => {
      const last = inPass.at(-1).weights;
      const oldest = lives.map((life, number) => {
        const running = Math.max(0, life.length - 1);
        for (const round of grouped(inPass, (step) => step.round)) {
          const changed = round.some(({ updated }) => updated.includes(number));
          if (!changed && !round.some(({ seen }) => seen.includes(number))) continue; // eslint-disable-line no-continue
          if (changed || !life.length) life.push({ vectors: part(round.at(-1).weights, number), rounds: 1 });
          else life.at(-1).rounds += 1;
        }
        const own = life.slice(running);
        return own.length ? own.reduce((a, b) => (b.rounds > a.rounds ? b : a)).vectors : part(last, number);
      });
      for (const candidates of [how.joint ? oldest[0] : oldest, last]) {
        const counts = wrong(candidates, visited);
        best ??= candidates;
        fewest ??= counts.map(() => Infinity);
        const better = counts.map((count, number) => count < fewest[number]);
        best = how.joint ? (better[0] ? candidates : best) : best.map((vector, v) => (better[v] ? candidates[v] : vector));
        fewest = fewest.map((count, number) => Math.min(count, counts[number]));
      }
      const found = [...new Array(inPass.length - 1).fill(before), joined(best)];
      before = best;
      return found;
    });
  });
}

// The names of the weight vectors: classes, or pairs of classes; none for two classes.
export function vectorNames(names, multiclass) {
  if (names.length === 2) return [];
  return multiclass === "ovo" ? pairsOf(names.length).map(([a, b]) => `${names[b]} vs ${names[a]}`) : names;
}

// The first and the last position of the first cycle of passes, which have the same weights.
export function cycleOf(steps, path) {
  const size = steps.filter(({ pass }) => pass === steps[0].pass).length;
  const seen = new Map();
  for (let t = 0; t < path.length; t += size) {
    const key = path[t].map(String).join(";");
    if (seen.has(key)) return [seen.get(key), t];
    seen.set(key, t);
  }
  return null;
}
