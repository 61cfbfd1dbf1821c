// Numbers without rounding: whole numbers are BigInt, fractions pairs of them.

const size = (x) => (x < 0n ? -x : x);

export function gcd(a, b) {
  [a, b] = [size(a), size(b)];
  while (b) [a, b] = [b, a % b];
  return a;
}

export class Fraction {
  constructor(top, bottom = 1n) {
    const common = (bottom < 0n ? -1n : 1n) * gcd(top, bottom);
    Object.assign(this, { top: top / common, bottom: bottom / common });
  }

  plus(other) {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  minus(other) { return this.plus(new Fraction(-other.top, other.bottom)); }

  times(other) { return new Fraction(this.top * other.top, this.bottom * other.bottom); }

  over(other) { return new Fraction(this.top * other.bottom, this.bottom * other.top); }

  // Negative, zero or positive as this is less than, equal to or more than another fraction.
  compare(other) {
    const apart = this.top * other.bottom - other.top * this.bottom;
    return apart < 0n ? -1 : apart > 0n ? 1 : 0;
  }

  // The nearest float.
  number() {
    const bits = (x) => x.toString(16).length * 4;
    const [a, b] = [size(this.top), this.bottom];
    const shift = BigInt(bits(b) - bits(a) + 70);
    const [up, down] = shift > 0n ? [a << shift, b] : [a, b << -shift];
    let found = up / down;
    if (up % down) found |= 1n; // what is left decides between two floats
    const power = -Number(shift);
    const half = Math.trunc(power / 2);
    return (this.top < 0n ? -1 : 1) * Number(found) * 2 ** half * 2 ** (power - half);
  }
}

export const [ZERO, ONE] = [new Fraction(0n), new Fraction(1n)];
export const least = (fractions) => fractions.reduce((a, b) => (b.compare(a) < 0 ? b : a));
export const most = (fractions) => fractions.reduce((a, b) => (b.compare(a) > 0 ? b : a));

// The fraction that a float is.
export function exact(x) {
  let power = 0n;
  while (!Number.isInteger(x)) { x *= 2; power += 1n; }
  return new Fraction(BigInt(x), 1n << power);
}

// The digits of a float as it is printed, a whole number, and how many of them are behind the point.
export function printed(x) {
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(x));
  const digits = part.length - Number(power);
  const all = BigInt(whole + part) * (sign ? -1n : 1n);
  return digits < 0 ? [all * 10n ** BigInt(-digits), 0] : [all, digits];
}

// Rows of fractions as whole numbers in their proportions, and the factor.
export function whole(rows) {
  const unit = rows.flat().reduce((a, { bottom }) => (a / gcd(a, bottom)) * bottom, 1n);
  return [rows.map((row) => row.map(({ top, bottom }) => top * (unit / bottom))), unit];
}

// The product of rows of whole numbers, or of floats.
export function dot(a, b) {
  let sum = a[0] * b[0];
  for (let j = 1; j < a.length; j += 1) sum += a[j] * b[j];
  return sum;
}

// Whole numbers in their proportions, in lowest terms.
export function lowestTerms(numbers) {
  const common = numbers.reduce(gcd, 0n) || 1n;
  return numbers.map((v) => v / common);
}

function wholeRoot(n) {
  let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

const view = new DataView(new ArrayBuffer(8));

// The next float above a positive one, or below it.
export function beside(x, step) {
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(step));
  return view.getFloat64(0);
}

// The nearest floats that are at most and at least the root of a fraction.
export function root(square) {
  if (!square.top) return [0, 0];
  const bits = BigInt(128 + Math.max(0, square.bottom.toString(2).length - square.top.toString(2).length));
  let low = new Fraction(wholeRoot((square.top << (2n * bits)) / square.bottom), 1n << bits).number();
  const above = (x) => exact(x).times(exact(x)).compare(square);
  if (above(low) > 0) low = beside(low, -1);
  return [low, above(low) === 0 ? low : beside(low, 1)];
}
