import { expect, test } from "@jest/globals";
import { type MeasuredSet, recallFigures, recallFiguresOf, sameFive } from "../../benchmarks/support/recall/figures.ts";

const measured = (set: string, share: number, five: string[]): MeasuredSet => {
  return { set, questions: five.length, byLegs: { fused: { "recall@5": share } }, later: null, recallMs: [1], five, unrelated: null };
};

test("recallFigures counts gold among the first five and ten, and in what a turn shows", () => {
  const returned = [["x"], ["a"], ["x"], ["x"], ["x"], ["b", "c"]];
  expect(recallFigures([{ gold: ["a", "b", "c", "d"], returned, shown: ["x", "a", "d"] }])).toEqual({
    "recall@5": 0.25,
    "recall@10": 0.75,
    "recall in the room of a turn": 0.5,
  });
});

test("a turn shall show no less than plain BM25 finds for the same room", () => {
  const shown = (share: number) => ({ "recall in the room of a turn": share });
  const set = { ...measured("one", 0, ["1"]), byLegs: { BM25: shown(0.5), fused: shown(0.4) } };
  const figures = recallFiguresOf("e", "here", [set]);
  expect(figures.find(({ name }) => name === "recall in the room of a turn, one, e, here")).toMatchObject({
    goal: { atLeast: 50, met: false },
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
