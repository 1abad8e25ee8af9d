import { describe, expect, test } from "@jest/globals";
import { setTimeout } from "node:timers/promises";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { RouteEmbedder } from "../../../nodes/routing/route-by-embedding.ts";
import type { KnowledgeBase } from "../../../stores/knowledge-catalog.ts";
import { makeRecordingEmbedder } from "../../support/samples/recording-embedder.ts";
import { makeRouter, TWO_BASES } from "./route-test-parts.ts";

const hashed = makeHashedEmbedder({});
const never = (): Promise<never> => new Promise(() => undefined);

describe("a route by meaning", () => {
  test.each([
    ["Where is the handbook about travelling rules?", "travel"],
    ["财务制度在哪里", "finance"],
  ])("goes to the base whose texts share most with the question %p", async (message, prefix) => {
    const { decision } = await makeRouter({ embedder: hashed })(message);
    expect(decision).toMatchObject({ kb_prefix: prefix, worker_name: `${prefix}:hybrid_agent`, method: "embedding" });
    expect(decision.confidence).toBeGreaterThan(0.5);
    expect(decision.reason).toContain(prefix);
  });

  test.each(["Something else entirely, please", "Why is the sky blue?", "为什么海水是咸的？"])("is general for %p", async (message) => {
    const { decision } = await makeRouter({ embedder: hashed })(message);
    expect(decision).toMatchObject({ kb_prefix: "general", method: "default" });
    expect(decision.confidence).toBeGreaterThan(0.3);
  });

  test.each([
    ["What is the hotel limit in Lisbon?", {}],
    ["Good morning to you!", {}],
    ["Where is the handbook?", { agentType: "chat_agent" as const }],
    ["Where is the handbook?", { requestedKbPrefix: "finance" }],
  ])("needs no embedding when words decide, as for %p with %p", async (message, fields) => {
    const embedder = makeRecordingEmbedder();
    await makeRouter({ embedder })(message, fields);
    expect([embedder.questions, embedder.passages]).toEqual([[], []]);
  });

  test("embeds the question once, and the bases once for all turns", async () => {
    const embedder = makeRecordingEmbedder();
    const ask = makeRouter({ embedder });
    await ask("Where is the handbook?");
    await ask("And where is the other one?");
    expect(embedder.questions).toEqual(["Where is the handbook?", "And where is the other one?"]);
    expect(embedder.passages).toHaveLength(2); // those of the bases, and the neutral sentences
  });

  test("decides between two bases when a question has words of both", async () => {
    const bases: KnowledgeBase[] = [
      { prefix: "rent", description: "Flats and landlords", keywords: ["contract"] },
      { prefix: "work", description: "Employment: salary, overtime and holidays of employees", keywords: ["contract"] },
    ];
    const { decision } = await makeRouter({ bases, embedder: hashed })("What does the contract say on overtime and salary of employees?");
    expect(decision).toMatchObject({ kb_prefix: "work", method: "embedding" });
    expect(decision.confidence).toBeGreaterThan(0.6);
    const alone = await makeRouter({ bases })("What does the contract say on overtime and salary of employees?");
    expect(alone.decision).toMatchObject({ kb_prefix: "rent", method: "rule", confidence: 0.45 });
  });

  test.each<[string, Partial<RouteEmbedder>]>([
    ["is slow with the question", { embedQuestion: never }],
    ["is slow with the bases", { embedPassages: never }],
  ])("is left out within its deadline when the embedder %s", async (_, slow) => {
    const { decision, errors } = await makeRouter({ embedder: { ...hashed, ...slow }, timeoutMs: 200 })("Where is the handbook?");
    expect(decision).toMatchObject({ kb_prefix: "travel", method: "rule", reason: expect.stringContaining("handbook") });
    expect(errors.map(({ code }) => code)).toEqual(["embedder_unavailable"]);
  });

  test("is left out while the embedder is away, and comes back afterwards", async () => {
    const embedder = makeRecordingEmbedder();
    const ask = makeRouter({ embedder });
    embedder.fail(new Error("away"));
    const { decision, errors } = await ask("Where is the handbook?");
    expect([decision.kb_prefix, decision.method, errors.length]).toEqual(["travel", "rule", 1]);
    expect((await ask("报销的期限在哪里写着？")).decision.kb_prefix).toBe("finance");
    expect((await ask("Who painted this picture?")).decision).toMatchObject({ kb_prefix: "general", method: "default" });
    embedder.fail(null);
    expect((await ask("Handbook rules?")).errors).toEqual([]);
  });

  test("uses in the next turn the vectors that a turn could not wait for", async () => {
    let calls = 0;
    const embedPassages: RouteEmbedder["embedPassages"] = async (texts) => {
      calls++;
      await setTimeout(300);
      return hashed.embedPassages(texts);
    };
    const ask = makeRouter({ embedder: { ...hashed, embedPassages }, timeoutMs: 100 });
    expect((await ask("Where is the handbook about travelling rules?")).decision.method).toBe("rule");
    await setTimeout(400);
    expect((await ask("Where is the handbook about travelling rules?")).decision.method).toBe("embedding");
    expect(calls).toBe(2); // for the bases, and for the neutral sentences
  });

  test.each<[string, KnowledgeBase[]]>([
    ["one base", TWO_BASES.slice(0, 1)],
    ["a base without texts", [{ prefix: "empty", description: "", keywords: [] }]],
    ["bases that are alike", ["a1b", "a2b"].map((prefix) => ({ prefix, description: "the same", keywords: [] }))],
  ])("has no error and a confidence between 0 and 1 with %s", async (_, bases) => {
    for (const message of ["Where is it written?", "the same", "？？", "x".repeat(5_000)]) {
      const { decision, errors } = await makeRouter({ bases, embedder: hashed })(message);
      expect(errors).toEqual([]);
      expect(decision.confidence).toBeGreaterThan(0);
      expect(decision.confidence).toBeLessThanOrEqual(1);
    }
  });
});
