import { type Script, scriptOf } from "../text/script-of.ts";
import type { Embedder } from "./embedder.ts";

export interface ScriptVector {
  script: Script;
  vector: ArrayLike<number>;
}

/** How near neutral sentences are to one vector: the mean cosine in each script, and the standard deviation of both together. */
export interface NeutralScale {
  means: Readonly<Record<Script, number>>;
  deviation: number;
}

const MIN_DEVIATION = 1e-3;

export const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export function cosineOf(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let place = 0; place < one.length; place++) sum += (one[place] ?? 0) * (other[place] ?? 0);
  return sum;
}

/** An embedder favours texts in a vector's own script, so each script has its own mean. */
export function neutralScale(vector: ArrayLike<number>, neutral: readonly ScriptVector[]): NeutralScale {
  const near = neutral.map((sentence) => ({ script: sentence.script, cosine: cosineOf(vector, sentence.vector) }));
  const meanIn = (script: Script): number => meanOf(near.flatMap((one) => (one.script === script ? [one.cosine] : [])));
  const means = { han: meanIn("han"), other: meanIn("other") };
  const squares = near.map(({ script, cosine }) => (cosine - means[script]) ** 2);
  return { means, deviation: Math.max(MIN_DEVIATION, Math.sqrt(meanOf(squares))) };
}

/** Sentences about nothing in particular, half English and half Chinese: the scale for a learned embedder's cosines. */
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

type PassageEmbedder = Pick<Embedder, "embedPassages">;

const vectorsOf = new WeakMap<PassageEmbedder, Promise<ScriptVector[]>>();

/**
 * The vectors of the neutral sentences, embedded once by each embedder. Nothing stops a running call: a turn that cannot wait leaves its
 * vectors to the next. After a failure it asks again.
 */
export function loadNeutralVectors(embedder: PassageEmbedder): Promise<ScriptVector[]> {
  const loading =
    vectorsOf.get(embedder) ??
    embedder
      .embedPassages(NEUTRAL_SENTENCES)
      .then((vectors) =>
        NEUTRAL_SENTENCES.map((text, place) => ({ script: scriptOf(text), vector: Float32Array.from(vectors[place] ?? []) })),
      );
  vectorsOf.set(embedder, loading);
  loading.catch(() => vectorsOf.get(embedder) === loading && vectorsOf.delete(embedder));
  return loading;
}
