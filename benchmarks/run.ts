import { benchChaos } from "./chaos.ts";
import { benchGrowth } from "./growth.ts";
import { benchKnowledge } from "./knowledge.ts";
import { benchMemoryRules } from "./memory-rules.ts";
import { benchPage } from "./page.ts";
import { benchRecall } from "./recall.ts";
import { benchRetrieve } from "./retrieve.ts";
import { benchRouting } from "./routing.ts";
import { benchTokens } from "./tokens.ts";
import { benchTurn } from "./turn.ts";

/** Every benchmark by its name: `npm run bench` runs all, `npm run bench NAME` one. */
const BENCHMARKS: Record<string, () => Promise<void>> = {
  turn: benchTurn,
  tokens: benchTokens,
  growth: benchGrowth,
  recall: benchRecall,
  retrieve: benchRetrieve,
  routing: benchRouting,
  "memory-rules": benchMemoryRules,
  knowledge: benchKnowledge,
  page: benchPage,
  chaos: benchChaos,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  process.stderr.write(`There is no benchmark ${unknown.join(", ")}. Known ones: ${Object.keys(BENCHMARKS).join(", ")}.\n`);
  process.exit(1);
}
for (const [name, benchmark] of Object.entries(BENCHMARKS)) if (wanted.length === 0 || wanted.includes(name)) await benchmark();
