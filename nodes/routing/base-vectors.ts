import type { Embedder } from "../../models/embedder.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";

/**
 * What people say to an assistant that is in nobody's documents. Embedded beside the knowledge bases: how near a question is to these says
 * what "near" means for this embedder and this question.
 */
export const NEUTRAL_SENTENCES: readonly string[] = [
  "Hello, how are you today?",
  "Thank you very much, that helped.",
  "Tell me a funny story about a dog.",
  "Write a short poem about the sea.",
  "What is the largest city in the world?",
  "When did the Roman Empire end?",
  "Explain how photosynthesis works.",
  "Translate this sentence into German.",
  "Make it longer and more friendly.",
  "What did you say before?",
  "No, the first one is better.",
  "My brother moved to another town.",
  "I like playing the piano in the evening.",
  "How do I bake bread?",
  "Write a function that reverses a list.",
  "Recommend a good novel to read.",
  "What is the square root of 144?",
  "Let us talk about something different.",
  "I am happy because the sun is shining.",
  "Do you remember the name of my friend?",
  "你好，最近怎么样？",
  "非常感谢，帮大忙了。",
  "给我讲一个有趣的故事。",
  "写一首关于大海的诗。",
  "世界上最大的城市是哪个？",
  "唐朝是哪一年灭亡的？",
  "解释一下光合作用。",
  "把这句话翻译成英语。",
  "写得长一点，语气友好一些。",
  "你前面说了什么？",
  "不是，第一个更好。",
  "我哥哥搬到别的城市去了。",
  "我喜欢晚上弹钢琴。",
  "面包怎么烤？",
  "写一个反转列表的函数。",
  "推荐一本好看的小说。",
  "一百四十四的平方根是多少？",
  "我们聊点别的吧。",
  "今天阳光很好，我很开心。",
  "你记得我朋友的名字吗？",
];

/** A text's vector, and whether the text is Chinese: questions are nearer to texts in their own script, whatever these are about. */
export interface TextVector {
  vector: Float32Array;
  isHan: boolean;
}

/** A knowledge base as vectors: of its description, its keywords and the titles of its documents. */
export interface BaseVectors {
  prefix: string;
  texts: TextVector[];
}

export interface VectorsOfBases {
  neutral: TextVector[];
  bases: BaseVectors[];
}

export type LoadVectors = (tenantId: string, bases: readonly KnowledgeBase[]) => Promise<VectorsOfBases>;

interface Kept {
  /** What the vectors were made of. */
  content: string;
  texts: Promise<TextVector[]>;
}

const HAN = /\p{Script=Han}/u;
/** Of a base's titles: more say little more, and each costs a turn a product of vectors. */
const MAX_TITLES = 32;

function textsOf({ description, keywords, titles = [] }: KnowledgeBase): string[] {
  return [description, keywords.join(", "), ...titles.slice(0, MAX_TITLES)].filter((text) => text.trim() !== "");
}

function toVectors(texts: readonly string[], vectors: readonly number[][]): TextVector[] {
  return texts.map((text, index) => ({ vector: Float32Array.from(vectors[index] ?? []), isHan: HAN.test(text) }));
}

/**
 * Embeds what is not known yet in one call, and keeps it until the base's texts change; of more than `capacity` bases those longest unused
 * go. Nothing stops an embedding under way: a turn that cannot wait leaves it to the next one.
 */
export function makeBaseVectors(embedder: Pick<Embedder, "embedPassages">, capacity = 256): LoadVectors {
  let neutral: Promise<TextVector[]> | null = null;
  const kept = new Map<string, Kept>();

  /** Puts it last in the line of those that have to go. */
  function keep(key: string, entry: Kept): void {
    kept.delete(key);
    kept.set(key, entry);
    for (const oldest of kept.keys()) if (kept.size > capacity) kept.delete(oldest);
  }

  /** Starts the one call for all that is missing; what fails is forgotten, so that the next turn asks again. */
  function startMissing(missing: readonly { key: string; content: string; texts: string[] }[]): Kept[] {
    const sentences = neutral === null ? NEUTRAL_SENTENCES : [];
    const asked = [...sentences, ...missing.flatMap(({ texts }) => texts)];
    if (asked.length === 0) return [];
    const work = embedder.embedPassages(asked);
    let end = 0;
    const next = (texts: readonly string[]): Promise<TextVector[]> => {
      const start = end;
      end += texts.length;
      return work.then((vectors) => toVectors(texts, vectors.slice(start, start + texts.length)));
    };
    if (neutral === null) {
      const asking = next(sentences);
      asking.catch(() => (neutral = null));
      neutral = asking;
    }
    return missing.map(({ key, content, texts }) => {
      const entry: Kept = { content, texts: next(texts) };
      entry.texts.catch(() => kept.get(key) === entry && kept.delete(key));
      return entry;
    });
  }

  return async function loadVectors(tenantId, bases) {
    const wanted = bases.map((base) => {
      const texts = textsOf(base);
      return { prefix: base.prefix, texts, key: JSON.stringify([tenantId, base.prefix]), content: JSON.stringify(texts) };
    });
    const found = wanted.map(({ key, content }) => (kept.get(key)?.content === content ? kept.get(key) : undefined));
    const started = startMissing(wanted.filter((_, index) => !found[index]));
    const entries = found.flatMap((entry) => entry ?? started.shift() ?? []);
    for (const [index, entry] of entries.entries()) keep(wanted[index]?.key ?? "", entry);
    const loading = entries.map(async ({ texts }, index) => ({ prefix: wanted[index]?.prefix ?? "", texts: await texts }));
    const [sentences, loaded] = await Promise.all([neutral ?? [], Promise.all(loading)]);
    return { neutral: sentences, bases: loaded };
  };
}
