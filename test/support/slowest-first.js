import Sequencer from "@jest/test-sequencer";

const SLOW = /\/test\/(hard\/(chaos|faults|fuzz|races)|package|repeated)\//;

/** Slow files are small: by size, as Jest sorts what it has never run, they would come last, and a worker would end alone with one. */
export default class SlowestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(({ path }) => SLOW.test(path)), ...sorted.filter(({ path }) => !SLOW.test(path))];
  }
}
