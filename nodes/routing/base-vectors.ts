import type { Embedder } from "../../models/embedder.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";

/** A text's vector. Questions are nearer to texts in their own script, so `isHan` says which script that is. */
export interface TextVector {
  vector: Float32Array;
  isHan: boolean;
}

/** The vectors of the neutral sentences, and of each base's description, keywords and document titles. */
export interface BaseVectors {
  neutral: TextVector[];
  bases: { prefix: string; texts: TextVector[] }[];
}

const HAN = /\p{Script=Han}/u;
/** More titles of a base add little, and each costs every turn a product of vectors. */
const MAX_TITLES = 32;

/** What people say to an assistant that no document answers: the scale on which a question is near to a base. */
export const NEUTRAL_SENTENCES: readonly string[] = `
Hello, how are you today? Thank you very much, that helped. Tell me a funny story about a dog. Write a short poem about the sea.
What is the largest city in the world? When did the Roman Empire end? Explain how photosynthesis works. Translate this sentence into German.
Make it longer and more friendly. What did you say before? No, the first one is better. My brother moved to another town.
I like playing the piano in the evening. How do I bake bread? Write a function that reverses a list. Recommend a good novel to read.
What is the square root of 144? Let us talk about something different. I am happy because the sun is shining.
Do you remember the name of my friend?
你好，最近怎么样？ 非常感谢，帮大忙了。 给我讲一个有趣的故事。 写一首关于大海的诗。 世界上最大的城市是哪个？ 唐朝是哪一年灭亡的？ 解释一下光合作用。
把这句话翻译成英语。 写得长一点，语气友好一些。 你前面说了什么？ 不是，第一个更好。 我哥哥搬到别的城市去了。 我喜欢晚上弹钢琴。 面包怎么烤？
写一个反转列表的函数。 推荐一本好看的小说。 一百四十四的平方根是多少？ 我们聊点别的吧。 今天阳光很好，我很开心。 你记得我朋友的名字吗？
`
  .trim()
  .split(/(?<=[.?。？])\s+/u);

function baseTexts({ description, keywords, titles = [] }: KnowledgeBase): string[] {
  return [description, keywords.join(", "), ...titles.slice(0, MAX_TITLES)].filter((text) => text.trim() !== "");
}

function toTextVector(text: string, vector: readonly number[] = []): TextVector {
  return { vector: Float32Array.from(vector), isHan: HAN.test(text) };
}

/**
 * Loads the vectors of bases; those that are not cached are embedded in one call. Of more than `capacity` bases the least recently used go.
 * Nothing stops a call under way: a turn that cannot wait leaves its vectors to the next.
 */
export function makeBaseVectors(
  embedder: Pick<Embedder, "embedPassages">,
  capacity = 256,
): (tenantId: string, bases: readonly KnowledgeBase[]) => Promise<BaseVectors> {
  /** Least recently used first. A base whose texts change gets another key. */
  const cache = new Map<string, Promise<TextVector[]>>();

  function embedMissing(groups: readonly { key: string; texts: readonly string[] }[]): void {
    const missing = groups.filter(({ key }) => !cache.has(key));
    const texts = missing.flatMap((group) => group.texts);
    const call = texts.length === 0 ? Promise.resolve([]) : embedder.embedPassages(texts);
    let end = 0;
    for (const group of missing) {
      const start = end;
      end += group.texts.length;
      const vectors = call.then((all) => group.texts.map((text, index) => toTextVector(text, all[start + index])));
      vectors.catch(() => cache.get(group.key) === vectors && cache.delete(group.key)); // the next turn asks again
      cache.set(group.key, vectors);
    }
  }

  function touch(key: string): Promise<TextVector[]> {
    const vectors = cache.get(key) ?? Promise.resolve([]);
    cache.delete(key);
    cache.set(key, vectors);
    return vectors;
  }

  return async function loadVectors(tenantId, bases) {
    const groups = bases.map((base) => ({ prefix: base.prefix, texts: baseTexts(base), key: JSON.stringify([tenantId, base]) }));
    embedMissing([{ key: "", texts: NEUTRAL_SENTENCES }, ...groups]);
    const loading = groups.map(async ({ prefix, key }) => ({ prefix, texts: await touch(key) }));
    const neutral = touch("");
    for (const oldest of cache.keys()) if (cache.size > capacity + 1) cache.delete(oldest);
    const [sentences, loaded] = await Promise.all([neutral, Promise.all(loading)]);
    return { neutral: sentences, bases: loaded };
  };
}
