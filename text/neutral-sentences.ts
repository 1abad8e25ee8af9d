/**
 * Sentences about nothing in particular, as many in English as in Chinese: the scale on which a learned embedder's cosines are counted, as
 * texts in the question's own script are nearer to it than others.
 */
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
