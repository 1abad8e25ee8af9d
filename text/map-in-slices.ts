import { setImmediate as letOthersRun } from "node:timers/promises";

/** Milliseconds of work before a pause. A single item may take longer. */
const SLICE_MS = 10;

/** Maps items one by one and yields to the event loop between slices, so that long texts do not block other work. */
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
