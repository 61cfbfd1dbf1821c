// The shuffled orders of passes, those of NumPy's generators: a Mersenne Twister draws a seed,
// SeedSequence and PCG64 the order of each pass.

const [M32, M64, M128] = [32n, 64n, 128n].map((bits) => (1n << bits) - 1n);
const PCG = 0x2360ed051fc65da44385df649fccf645n;

// The function from a pass, counted from 0, to the order of its rows: the first is never shuffled.
export function ordersOf(n, seed, shuffle) {
  const plain = Array.from({ length: n }, (_, row) => row);
  const drawn = shuffle ? seedOf(seed) : 0;
  return (pass) => (shuffle && pass ? permutation(n, drawn, pass) : plain);
}

// RandomState(seed).randint(2**31 - 1): the first words of the twister that are below.
function seedOf(seed) {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let k = 1; k < 624; k += 1) {
    state[k] = Math.imul(1812433253, state[k - 1] ^ (state[k - 1] >>> 30)) + k;
  }
  for (let k = 0; ; k += 1) {
    const joined = (state[k] & 0x80000000) | (state[(k + 1) % 624] & 0x7fffffff);
    state[k] = state[(k + 397) % 624] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
    let y = state[k];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    y = (y ^ (y >>> 18)) & 0x7fffffff;
    if (y < 2 ** 31 - 1) return y;
  }
}

// default_rng([seed, pass]).permutation(n), by Fisher and Yates.
function permutation(n, seed, pass) {
  const words = seedWords(seed, pass);
  const [high, low, moreHigh, moreLow] = [0, 2, 4, 6].map((k) => BigInt(words[k]) | (BigInt(words[k + 1]) << 32n));
  const step = ((((moreHigh << 64n) | moreLow) << 1n) | 1n) & M128;
  let state = ((((high << 64n) | low) + step) * PCG + step) & M128;
  const order = Array.from({ length: n }, (_, row) => row);
  const halves = [];
  for (let i = n - 1; i > 0; i -= 1) {
    const mask = 2 ** (32 - Math.clz32(i)) - 1;
    let j = n;
    while (j > i) {
      if (!halves.length) {
        state = (state * PCG + step) & M128;
        const [turn, mixed] = [state >> 122n, ((state >> 64n) ^ state) & M64];
        const drawn = ((mixed >> turn) | (mixed << (-turn & 63n))) & M64;
        halves.push(Number(drawn >> 32n), Number(drawn & M32));
      }
      j = (halves.pop() & mask) >>> 0;
    }
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// The eight words that SeedSequence makes of two numbers.
function seedWords(...numbers) {
  let constant = 0x43b0d7e5;
  const hashed = (word, factor) => {
    const following = Math.imul(constant, factor);
    const found = Math.imul(word ^ constant, following);
    constant = following;
    return found ^ (found >>> 16);
  };
  const pool = [...numbers, 0, 0].map((word) => hashed(word, 0x931e8875));
  for (let source = 0; source < 4; source += 1) {
    for (let to = 0; to < 4; to += 1) {
      if (source !== to) {
        const mixed = Math.imul(0xca01f9dd, pool[to]) - Math.imul(0x4973f715, hashed(pool[source], 0x931e8875));
        pool[to] = mixed ^ (mixed >>> 16);
      }
    }
  }
  constant = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, k) => hashed(pool[k % 4], 0x58f38ded) >>> 0);
}
