import { lexicalQuery, lexicalText } from "../../text/lexical-text.ts";
import { mapInSlices } from "../../text/map-in-slices.ts";
import type { Embedder } from "../embedder.ts";

const COMMON = new Set(
  `我们 你们 他们 什么 一个 这个 那个 可以 没有 因为 所以 但是 如果 就是 不是 还是 觉得 知道 时候 一下 怎么 有点 喜欢 现在 今天 自己 ${lexicalText(
    "know think want thing really good great time day people help tell say use need give find lot sure feel please thank try look work new going year today something anything maybe right always never",
  )}`.split(" "),
);
const COMMON_CHARACTERS = new Set("的了是我你他她它们在有和就不也都很这那要会能吗呢吧啊说去到一个上下好");
const WEIGHTS = { word: 1, character: 0.5, common: 0.25, commonCharacter: 0.05, spelling: 0.5 };
/** Chosen by leaving one set out: docs/decisions/0040. */
const VECTOR_WEIGHT = 0.2;
/** Without a common word, only a typing error makes texts alike. */
const MIN_SIMILARITY = 0.35;
const PLAIN_WORD = /^[a-z]{4,}$/;

/** FNV-1a with the last step of MurmurHash3. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

export function weightOf(word: string): number {
  const isCharacter = word.length <= 2 && [...word].length === 1;
  if (isCharacter) return COMMON_CHARACTERS.has(word) ? WEIGHTS.commonCharacter : WEIGHTS.character;
  return COMMON.has(word) ? WEIGHTS.common : WEIGHTS.word;
}

function lengthOne(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? vector.map((_, index) => (index === 0 ? 1 : 0)) : vector.map((value) => value / length);
}

/**
 * An embedder without a model: hashed words, pairs of characters and, against typing errors, three letters in a row, each with a random
 * sign (Weinberger et al. 2009, feature hashing). It knows no meanings: keywords must lead.
 */
export function makeHashedEmbedder({ dimensions = 512 }: { dimensions?: number }): Embedder {
  function embed(lexical: string): number[] {
    const counts = new Map<string, number>();
    for (const word of lexical.split(" ")) if (word !== "") counts.set(word, (counts.get(word) ?? 0) + 1);
    const vector = new Array<number>(dimensions).fill(0);
    const add = (feature: string, weight: number): void => {
      const hashed = hash(feature);
      const place = (hashed >>> 1) % dimensions;
      vector[place] = (vector[place] ?? 0) + (hashed & 1 ? weight : -weight);
    };
    for (const [word, count] of counts) {
      const weight = weightOf(word) * (1 + Math.log(count));
      add(word, weight);
      if (!PLAIN_WORD.test(word)) continue;
      const spelled = `^${word}$`;
      const parts = spelled.length - 2;
      for (let start = 0; start < parts; start++)
        add(`~${spelled.slice(start, start + 3)}`, (weight * WEIGHTS.spelling) / Math.sqrt(parts));
    }
    return lengthOne(vector);
  }

  return {
    name: "built-in-hashed-1",
    dimensions,
    vectorWeight: VECTOR_WEIGHT,
    minSimilarity: MIN_SIMILARITY,
    async embedQuestion(text) {
      return embed([...new Set(lexicalQuery(text).split(" "))].join(" "));
    },
    async embedPassages(texts) {
      return mapInSlices(texts, (text) => embed(lexicalText(text)));
    },
  };
}
