import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { anyText } from "../../support/samples/any-text.ts";

const embedder = makeHashedEmbedder({});

async function passage(text: string): Promise<number[]> {
  const [vector = []] = await embedder.embedPassages([text]);
  return vector;
}

async function similarity(question: string, text: string): Promise<number> {
  const [one, other] = await Promise.all([embedder.embedQuestion(question), passage(text)]);
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}

describe("the built-in embedder", () => {
  test("property: gives vectors of its dimensions and of length 1 for any text", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.constantFrom(16, 512), async (text, dimensions) => {
        const [vector = []] = await makeHashedEmbedder({ dimensions }).embedPassages([text]);
        expect(vector).toHaveLength(dimensions);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 9);
      }),
      { numRuns: 50 },
    );
  });

  test("gives the same vector for the same text, and one fixed vector for none", async () => {
    expect(await passage("导演 and hiking")).toEqual(await passage("导演 and hiking"));
    expect(await passage("")).toEqual(await passage("…"));
    expect(await embedder.embedQuestion("")).toEqual(await passage(""));
  });

  test("does not change between versions: stored vectors stay comparable", async () => {
    const vector = await passage("hike 导演");
    const places = vector.flatMap((value, index) => (value === 0 ? [] : [`${index}:${value.toFixed(3)}`]));
    expect(places.join(" ")).toBe("65:0.151 118:-0.151 153:0.302 243:0.603 290:-0.151 343:0.603 433:-0.302 470:-0.151");
  });

  test.each([
    ["Where do I go hiking?", "I love hikes in the Alps on Sundays.", "My accountant filed the tax form."],
    ["What is my dog called?", "My dog Rex chews on shoes.", "The recipe needs three eggs."],
    ["我的猫叫什么", "我养了一只猫，它叫咪咪", "明天公司开会讨论预算"],
    ["推荐的电影导演是谁", "这部电影的导演是李安", "我喜欢吃四川火锅"],
    ["Who is the photogrpher?", "The photographer was Ana.", "The plumber was Tom."],
    ["TypeScript 项目的 deadline", "这个 TypeScript 项目月底交", "Python 课程明天开始"],
  ])("finds %j nearer to %j than to %j", async (question, near, far) => {
    expect(await similarity(question, near)).toBeGreaterThan((await similarity(question, far)) + 0.1);
  });

  test("gives little for words that are in most texts", async () => {
    const common = await similarity("really good time", "I really think people need a good time to play the violin");
    const rare = await similarity("violin", "I really think people need a good time to play the violin");
    expect(rare).toBeGreaterThan(common);
  });
});
