import { setImmediate as letOthersRun } from "node:timers/promises";

const SLICE_MS = 10;

/** Maps items and yields to the event loop every 10 ms. */
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
