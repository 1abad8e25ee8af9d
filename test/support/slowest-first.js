import Sequencer from "@jest/test-sequencer";

const SLOW = [
  "hard",
  "package",
  "repeated",
  "scripts",
  "memory/episodes/rebuild-index",
  "memory/documents/parsing",
  "memory/recall/same-on-every-store",
  "server/service/",
  "stores/postgres/export",
  "stores/search",
  "walks",
  "web/",
].map((name) => `/test/${name}`);

const isSlow = ({ path }) => SLOW.some((name) => path.includes(name));

/** Slow files are small: by size, as Jest sorts what it has never run, they would come last, and a worker would end alone with one. */
export default class SlowestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isSlow), ...sorted.filter((test) => !isSlow(test))];
  }
}
