import { describe, expect, test } from "@jest/globals";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { pathologicalTexts } from "./pathological-texts.ts";
import { findTextFunctions } from "./text-functions.ts";

/** Only an expression that is not linear is slow each time. */
const TRIES = 5;
const HOPELESS_MS = 1_000;

/** Functions that read no text of users or models in the thread that answers requests: readers of documents have threads of their own. */
const ELSEWHERE =
  /^memory\/parsing\/(read-\w+|split-document|parse-document)\.ts |^server\/(observe\/health-routes\.ts checkModelServer|openapi\/build-description\.ts)/;

const CALLED_WITH: Record<string, (text: string) => unknown[]> = {
  "text/chinese-times.ts chineseTimesInEnglish": (text) => [text.slice(0, 1_000), 20_000],
};

const FUNCTIONS = findTextFunctions().filter(({ id }) => !ELSEWHERE.test(id));
const TEXTS = pathologicalTexts();

async function msOf(call: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  try {
    await call();
  } catch {
    // A text may be refused, as long as that takes no time.
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const spaces = ` ${" ".repeat(31_998)}x`;
/** Milliseconds of the processor for each text among the arguments: a fraction of what a quadratic expression takes on this machine. */
const LONGEST_MS = (await msOf(() => /\s+$/.test(spaces))) / 4;

function timesIn(value: unknown, text: string): number {
  if (typeof value === "string") return value === text ? 1 : 0;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + timesIn(one, text), 0);
}

async function slowTexts(argumentsWith: (text: string) => unknown[], call: (parameters: unknown[]) => unknown): Promise<string[]> {
  const slow: string[] = [];
  for (const [name, text] of TEXTS) {
    const parameters = argumentsWith(text);
    const allowed = LONGEST_MS * Math.max(1, timesIn(parameters, text));
    let ms = Infinity;
    for (let attempt = 0; attempt < TRIES && ms > allowed && (attempt === 0 || ms < HOPELESS_MS); attempt++)
      ms = Math.min(ms, await msOf(() => call(parameters)));
    if (ms > allowed) slow.push(`${name}: ${Math.round(ms)} ms`);
    if (slow.length > 2) break;
  }
  return slow;
}

describe("a text of 32,000 characters", () => {
  test("is given to every exported function that reads text", () => {
    const ids = FUNCTIONS.map(({ id }) => id);
    for (const known of ["text/split-sentences.ts splitSentences", "models/offline/offline-chat-model.ts offlineAnswer"])
      expect(ids).toContain(known);
    expect(Object.keys(CALLED_WITH).filter((id) => !ids.includes(id))).toEqual([]);
  });

  test.each(FUNCTIONS.map((found) => [found.id, found] as const))(
    "is read in a moment by %s",
    async (id, { file, name, argumentsWith }) => {
      const module = (await import(`../../../${file}`)) as Record<string, (...parameters: unknown[]) => unknown>;
      const slow = await slowTexts(CALLED_WITH[id] ?? argumentsWith, (parameters) => module[name]?.(...parameters));
      expect(slow).toEqual([]);
    },
  );

  test("is embedded in a moment by the built-in embedder", async () => {
    const embedder = makeHashedEmbedder({});
    const slow = await slowTexts(
      (text) => [text],
      ([text]) => embedder.embedPassages([String(text)]),
    );
    expect(slow).toEqual([]);
  });
});
