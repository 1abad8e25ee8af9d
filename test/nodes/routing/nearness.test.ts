import { describe, expect, test } from "@jest/globals";
import { makeCosineScale } from "../../../memory/recall/cosine-scale.ts";
import { makeBaseVectors } from "../../../nodes/routing/nearness.ts";
import { NEUTRAL_SENTENCES } from "../../../models/neutral-scale.ts";
import type { KnowledgeBase } from "../../../stores/knowledge-catalog.ts";
import { makeRecordingEmbedder } from "../../support/samples/recording-embedder.ts";

const base = (prefix: string, fields: Partial<KnowledgeBase> = {}): KnowledgeBase => {
  return { prefix, description: `about ${prefix}`, keywords: ["one", "two"], ...fields };
};
/** An embedder that notes what it is asked, and vectors loaded by it. */
function loading(capacity?: number) {
  const embedder = makeRecordingEmbedder();
  /** What it was asked for bases. */
  const asked = () => embedder.passages.filter(([first]) => first !== NEUTRAL_SENTENCES[0]);
  return { embedder, asked, load: makeBaseVectors(embedder, capacity) };
}

describe("the vectors of the knowledge bases", () => {
  test("come from one call, and are kept for the next turn", async () => {
    const { asked, load } = loading();
    const loaded = await load("t", [base("a"), base("b", { titles: ["第一章"] })]);
    expect(asked()).toEqual([["about a", "one, two", "about b", "one, two", "第一章"]]);
    expect(loaded.bases.map(({ prefix, texts }) => [prefix, texts.map(({ script }) => script)])).toEqual([
      ["a", ["other", "other"]],
      ["b", ["other", "other", "han"]],
    ]);
    const [expected] = await makeRecordingEmbedder().embedPassages(["第一章"]);
    expect(Array.from(loaded.bases[1]?.texts[2]?.vector ?? [])).toEqual([...Float32Array.from(expected ?? [])]);
    expect((await load("t", [base("b", { titles: ["第一章"] })])).bases[0]?.texts).toBe(loaded.bases[1]?.texts);
    expect(asked()).toHaveLength(1);
  });

  test.each([{ description: "new" }, { keywords: ["three"] }, { titles: ["new"] }])(
    "are made anew for a base that changes by %p, and for no other",
    async (change) => {
      const { asked, load } = loading();
      await load("t", [base("a"), base("b")]);
      await load("t", [base("a", change), base("b")]);
      expect(asked()).toHaveLength(2);
      expect(asked()[1]).toContain(Object.values(change).flat()[0]);
      expect(asked()[1]).not.toContain("about b");
    },
  );

  test("are kept apart for each tenant", async () => {
    const { asked, load } = loading();
    await load("t", [base("a", { description: "of t" })]);
    const other = await load("u", [base("a", { description: "of u" })]);
    expect(asked()[1]).toEqual(["of u", "one, two"]);
    expect((await load("t", [base("a", { description: "of t" })])).bases[0]?.texts).not.toBe(other.bases[0]?.texts);
    expect(asked()).toHaveLength(2);
  });

  test("are dropped when there are too many, beginning with those that were not used for longest", async () => {
    const { asked, load } = loading(2);
    for (const prefix of ["a", "b", "a", "c"]) await load("t", [base(prefix)]);
    expect(asked()).toHaveLength(3);
    await load("t", [base("a")]);
    expect(asked()).toHaveLength(3);
    await load("t", [base("b")]);
    expect(asked().at(-1)).toEqual(["about b", "one, two"]);
    const loaded = await load("t", [base("a"), base("b"), base("c")]);
    expect(loaded.bases.map(({ texts }) => texts.length)).toEqual([2, 2, 2]);
  });

  test("share the neutral sentences of routing and recall, which are embedded once", async () => {
    const embedder = Object.assign(makeRecordingEmbedder(), { favoursScripts: true });
    const scale = makeCosineScale(embedder, undefined);
    await Promise.all([makeBaseVectors(embedder)("t", [base("a")]), scale(await embedder.embedQuestion("where?"))]);
    expect(embedder.passages.filter(([first]) => first === NEUTRAL_SENTENCES[0])).toHaveLength(1);
  });

  test("are made once for turns at the same time, and again after a failure", async () => {
    const { embedder, asked, load } = loading();
    embedder.fail(new Error("away"));
    const both = await Promise.allSettled([load("t", [base("a")]), load("t", [base("a")])]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(asked()).toHaveLength(1);
    embedder.fail(null);
    expect((await load("t", [base("a")])).neutral).toHaveLength(NEUTRAL_SENTENCES.length);
    expect(asked()).toHaveLength(2);
  });
});
