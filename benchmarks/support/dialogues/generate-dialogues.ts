import { tokensOfText } from "./count-tokens.ts";
import { CHINESE, ENGLISH, type Phrases } from "./phrases.ts";

export interface Exchange {
  user: string;
  assistant: string;
}

export interface Dialogue {
  set: string;
  exchanges: Exchange[];
}

/** The usual lengths of texts in tokens of o200k_base. */
const USER_TOKENS = { least: 30, most: 80 };
const ASSISTANT_TOKENS = { least: 80, most: 250 };

const LANGUAGES: Record<string, Phrases> = { "generated-en": ENGLISH, "generated-zh": CHINESE };

type Random = () => number;

/** Numbers from 0 to 1, repeatable by the seed. https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
function makeRandom(seed: number): Random {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

/** Joins a sentence of `first`, some of `middle` and one of `last` to a random length in the range. */
function writeText(
  { slots, separator }: Phrases,
  { first, middle, last }: { first: string[]; middle: string[]; last: string[] },
  { least, most }: { least: number; most: number },
  random: Random,
): string {
  const fill = (patterns: string[]): string =>
    pick(patterns, random).replaceAll(/\{(\w+)\}/g, (_, slot: string) => pick(slots[slot] ?? [], random));
  const wanted = least + random() * (most - least);
  const end = fill(last);
  const tokensWithEnd = (beginning: string): number => tokensOfText(beginning + separator + end);
  const rest = [...middle];
  let text = fill(first);
  while (rest.length > 0) {
    const [pattern = ""] = rest.splice(Math.floor(random() * rest.length), 1);
    const longer = text + separator + fill([pattern]);
    if (tokensWithEnd(longer) > wanted && tokensWithEnd(text) >= least) break;
    text = longer;
  }
  return text + separator + end;
}

/** `count` dialogues of `turns` exchanges in English and as many in Chinese, the same on every run. */
export function generateDialogues({ count, turns }: { count: number; turns: number }): Dialogue[] {
  return Object.entries(LANGUAGES).flatMap(([set, phrases], language) =>
    Array.from({ length: count }, (_, index) => {
      const random = makeRandom(1_000 * (language + 1) + index + 1);
      const { statements, questions, openings, advice, closings } = phrases;
      const exchanges = Array.from({ length: turns }, () => ({
        user: writeText(phrases, { first: statements, middle: statements, last: questions }, USER_TOKENS, random),
        assistant: writeText(phrases, { first: openings, middle: advice, last: closings }, ASSISTANT_TOKENS, random),
      }));
      return { set, exchanges };
    }),
  );
}
