/** Whole numbers below a limit that are the same for the same seed: https://en.wikipedia.org/wiki/Xorshift (32 bits). */
export function makeSeededRandom(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
