import { expect, test } from "@jest/globals";
import { type Answered, type MeasuredSet, recallFigures, recallFiguresOf, sameFive } from "../../benchmarks/support/recall/figures.ts";

const quoted = (unit: string, characters: number): Answered["prompt"][number] => ({ units: [unit], characters });

const measured = (set: string, share: number, five: string[]): MeasuredSet => {
  return { set, questions: five.length, byLegs: { fused: { "recall@5": share } }, later: null, recallMs: [1], five, unrelated: null };
};

test("recallFigures counts gold among the first five and ten, and in prompts of some lengths, and leaves out what is too long for the rest", () => {
  const prompt = [quoted("a", 900), quoted("b", 200), quoted("c", 90), quoted("d", 1_500)];
  const longPrompt = [quoted("a", 7_000), quoted("b", 900), quoted("c", 200)];
  const returned = [["x"], ["a"], ["x"], ["x"], ["x"], ["b", "c"]];
  expect(recallFigures([{ gold: ["a", "b", "c", "d"], returned, prompt, longPrompt }])).toEqual({
    "recall@5": 0.25,
    "recall@10": 0.75,
    "recall in 1,000 characters": 0.5,
    "recall in 2,000 characters": 0.75,
    "recall in 4,000 characters": 1,
    "recall of ten in 8,000 characters": 0.5,
  });
});

test("the spread of a mean over sets is the spread of the means with one set left out", () => {
  const figures = recallFiguresOf("e", "here", [measured("one", 0.2, ["1"]), measured("two", 0.4, ["2"]), measured("three", 0.9, ["3"])]);
  expect(figures.find(({ name }) => name === "recall@5, mean of 3 sets, e, here")).toMatchObject({
    p50: expect.closeTo(50, 5),
    spread: { lowest: expect.closeTo(30, 5), highest: expect.closeTo(65, 5) },
    samples: 3,
  });
});

test("sameFive compares places question by question", () => {
  const one = [measured("one", 1, ["a b", "c d"]), measured("two", 1, ["e f", "g h"])];
  const other = [measured("one", 1, ["a b", "c d"]), measured("two", 1, ["e f", "g i"])];
  expect(sameFive(one, other, "same")).toMatchObject({ p50: 75, samples: 4, goal: { met: false } });
  expect(sameFive(one, other.slice(1), "same")).toMatchObject({ p50: 50, samples: 2 });
});
