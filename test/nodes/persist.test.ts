import { describe, expect, test } from "@jest/globals";
import { answerMetadata, citationsOf } from "../../nodes/persist.ts";
import type { ConversationState } from "../../turn/state.ts";

const passages = ["one", "two", "three"].map((id) => ({
  id,
  document_id: `of ${id}`,
  title: `Title ${id}`,
  heading: `Heading ${id}`,
  score: 1,
}));

describe("the citations of an answer", () => {
  test.each([
    ["It is 140 euros [2].", [2]],
    ["里斯本的酒店上限是140欧元【2】，机票见［1］。", [1, 2]],
    ["Both say so [1, 3].", [1, 3]],
    ["两处都有[1、2]。", [1, 2]],
    ["One[3][1].", [1, 3]],
    ["It is in none of them.", [1, 2, 3]],
    ["As [4] and [2024] say.", [1, 2, 3]],
    ["Write `rows[1]` [2].", [2]],
    ["```\nrows[1] = rows[3];\n```\nSee [2].", [2]],
    ["```\nrows[1]", [1, 2, 3]],
  ])("of %j are the passages %j", (answer, numbers) => {
    expect(citationsOf(answer, passages).map(({ number }) => number)).toEqual(numbers);
  });

  test("name the passage and its document, and never give its text", () => {
    expect(citationsOf("[2]", passages)).toEqual([
      { number: 2, passage_id: "two", document_id: "of two", title: "Title two", heading: "Heading two" },
    ]);
  });

  test("are none when no passages were in the prompt", () => expect(citationsOf("See [1].", [])).toEqual([]));
});

describe("the metadata of an answer", () => {
  const receipt = { passages, episodes: [], core_memory: [{ section: "profile", version: 3 }] };
  const turn = { turnId: "turn", workerName: "travel:hybrid_agent", usage: null, cut: null, error: null, continued: null, receipt };
  const metadataOf = (fields: object) =>
    answerMetadata({ ...turn, debug: false, answer: "[1]", ...fields } as unknown as ConversationState);

  test("has the code of the error that broke the answer off, and not its message", () => {
    expect(metadataOf({})).not.toHaveProperty("error");
    const error = { code: "model_incomplete", message: "secret", retryable: true };
    expect(metadataOf({ error })).toMatchObject({ error: "model_incomplete", core_memory: receipt.core_memory });
    expect(JSON.stringify(metadataOf({ error }))).not.toContain("secret");
  });

  test("has no sources when the turn failed before its prompt was made", () => {
    expect(metadataOf({ receipt: null, answer: "" })).toMatchObject({ route: null, citations: [], episodes: [], core_memory: [] });
  });

  test("keeps the sources of the earlier part of an answer that was continued", () => {
    const earlier = [citationsOf("[1]", passages), citationsOf("[1]", passages.slice(2))].flat();
    const { citations } = metadataOf({ continued: { citations: earlier }, answer: "[1] [2]" });
    expect(citations).toEqual([...earlier, ...citationsOf("[2]", passages)]);
  });
});
