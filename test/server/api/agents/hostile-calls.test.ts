import { tool } from "@langchain/core/tools";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import { calls, useAgentService } from "./agent-service.ts";

const hooked: unknown[] = [];
const order = tool(async ({ item }: { item: string }) => `ordered ${item}`, {
  name: "order",
  description: "Orders an item.",
  schema: z.strictObject({ item: z.string() }),
});
const recite = tool(async () => "line of a long poem\n".repeat(1_000), { name: "recite", description: "Recites.", schema: z.object({}) });
const { follow, makeAgent, chats, ask } = useAgentService(
  {},
  {
    extras: {
      tools: [order, recite].map((one) => fromLangChainTool(one, { onlyReads: true })),
      hooks: { before: ({ arguments: given }) => void hooked.push(given) },
    },
  },
);
beforeAll(() => makeAgent("all", { tools: ["*"] }));

type Call = Parameters<typeof calls>;
const call = async (...asked: Call[]) => {
  follow(
    asked.map((one) => calls(...one)),
    "Done.",
  );
  const { of, steps, done } = await ask("all", "go");
  expect(done).toMatchObject({ answer: "Done.", completed: true });
  return { results: of("tool_result"), steps: steps.filter(({ kind }) => kind === "tool") };
};
const nested = (levels: number): string => `{"expression":${"[".repeat(levels)}${"]".repeat(levels)}}`;

describe("a call is a result that the model reads, whatever stands in it:", () => {
  test.each<[what: string, call: Call, says: string]>([
    ["a NUL in the name of a field", ["calculate", '{"a\\u0000b":1}'], "invalid_arguments"],
    ["half a surrogate pair in the name of a field", ["calculate", '{"a\\ud800b":1}'], "invalid_arguments"],
    ["lists in lists", ["calculate", nested(101)], "nest deeper than 100 levels"],
    ["the prototype", ["calculate", '{"__proto__":{"expression":"1"}}'], "invalid_arguments"],
    ["a section of core memory that there is not", ["core_memory_update", { section: "secrets", content: "x" }], "section: "],
    ["too much for core memory", ["core_memory_update", { section: "goals", content: "x".repeat(2_001) }], "content: "],
    ["an importance over 1", ["memory_save", { content: "x", importance: 2 }], "importance: "],
    ["51 items of a plan", ["todo_write", { items: Array(51).fill({ content: "x", status: "pending" }) }], "items: "],
    ["a status of no plan", ["todo_write", { items: [{ content: "x", status: "perhaps" }] }], "items.0.status: "],
    ["a place that is no time zone", ["current_time", { time_zone: "../../etc/passwd" }], "invalid_time_zone"],
    ["a knowledge base that there is not", ["knowledge_search", { query: "x", kb: "a' or 1=1" }], "unknown_knowledge_base"],
    ["no name", ["", {}], "unknown_tool"],
    ["a NUL in the tool's name", ["calc\0ulate", {}], "unknown_tool"],
  ])("%s", async (_what, asked, says) => {
    const { results, steps } = await call(asked);
    expect(results).toMatchObject([{ ok: false, output: expect.stringContaining(says) as unknown }]);
    expect(steps).toMatchObject([{ ok: false, output: results[0]?.output }]);
  });

  test("what cannot be stored is left out of what a tool keeps", async () => {
    const { results } = await call(
      ["core_memory_update", '{"section":"goals","content":"Sails\\u0000 far\\ud800."}', "a"],
      ["memory_save", '{"content":"Has\\u0000 a boat."}', "b"],
      ["todo_write", '{"items":[{"content":"Sail\\u0000","status":"pending"}]}', "c"],
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
  });
});

test("a failure that quotes what the model sent is cut", async () => {
  const { steps } = await call(["calculate", JSON.stringify({ ["k".repeat(20_000)]: 1 })]);
  expect(String(steps[0]?.["output"]).length).toBeLessThan(2_500);
});

test("a hook sees calls whose arguments fit the schema only", async () => {
  const { results } = await call(["order", { wrong: 1 }, "a"], ["order", { item: "tea" }, "b"]);
  expect(results.find(({ call_id }) => call_id === "a")?.output).toContain("item: ");
  expect(hooked.filter((given) => JSON.stringify(given).match(/wrong|tea/))).toEqual([{ item: "tea" }]);
});

test("an event has the first 4,000 characters of an output, and the step all of it", async () => {
  const { results, steps } = await call(["recite", {}]);
  const whole = "line of a long poem\n".repeat(1_000);
  expect(results).toMatchObject([{ ok: true, cut: true, output: whole.slice(0, 4_000) }]);
  expect(steps[0]?.["output"]).toBe(whole);
});

test("calls of one answer that have the same id are told apart", async () => {
  await call(["order", { item: "tea" }, "same"], ["order", { item: "milk" }, "same"]);
  const said = chats().at(-1)?.body.messages.slice(-3) ?? [];
  const asked = said[0]?.tool_calls?.map(({ id }) => id) ?? [];
  expect(new Set(asked).size).toBe(2);
  expect(said.slice(1).map(({ tool_call_id, content }) => [tool_call_id, content.includes("tea")])).toEqual([
    [asked[0], true],
    [asked[1], false],
  ]);
});
