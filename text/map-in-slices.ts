import { setImmediate as letOthersRun } from "node:timers/promises";

/** In milliseconds: for so long, or one item, texts are read without a pause. */
const SLICE_MS = 10;

/** Reads items one after the other, in slices between which the event loop goes round: many long texts hold no other work up. */
export async function mapInSlices<Item, Result>(items: readonly Item[], read: (item: Item, position: number) => Result): Promise<Result[]> {
  const results: Result[] = [];
  let began = performance.now();
  for (const [position, item] of items.entries()) {
    if (performance.now() - began > SLICE_MS) {
      await letOthersRun();
      began = performance.now();
    }
    results.push(read(item, position));
  }
  return results;
}
