// SHA-256 (FIPS 180-4) of bytes: pages opened from a disk have no crypto.subtle.

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
const FIRST = primes(8).map((p) => fraction(Math.sqrt(p)));
const ROUNDS = primes(64).map((p) => fraction(Math.cbrt(p)));
const turned = (x, n) => (x >>> n) | (x << (32 - n));

export function sha256(bytes) {
  const size = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(size);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(size - 8, BigInt(bytes.length) * 8n);
  const state = Int32Array.from(FIRST);
  const w = new Int32Array(64);
  for (let from = 0; from < size; from += 64) {
    for (let t = 0; t < 16; t += 1) w[t] = view.getInt32(from + 4 * t);
    for (let t = 16; t < 64; t += 1) {
      const [x, y] = [w[t - 15], w[t - 2]];
      w[t] = w[t - 16] + w[t - 7] + (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)) + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t += 1) {
      const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[t] + w[t]) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((v, k) => { state[k] += v; });
  }
  const found = new DataView(new ArrayBuffer(32));
  state.forEach((v, k) => found.setInt32(4 * k, v));
  return new Uint8Array(found.buffer);
}

export const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
