import { afterEach, describe, expect, test } from "@jest/globals";
import type { ChatRequestBody } from "../../../servers/model-server.ts";
import {
  openOfflineCoreMemory,
  openServiceWithCoreMemory,
  writing,
  type CoreMemoryApi,
} from "../../../support/services/service-with-core-memory.ts";
import { takeFencesOut } from "./poison.ts";

const TURNS = 100;
/** Nothing of it is new about the user; much of it comes near to what is known. */
const SMALL_TALK = [
  ...["Thanks!", "What do you know about me?", "Where do I live?", "Tell me a joke about cats.", "And what is my name?"],
  ...["好的，谢谢。", "我住在哪里？", "Is Porto nice in spring?", "Yes, exactly.", "Could you say that again?"],
];

type Grown = { facts: string[]; versions: number; operations: number };

describe("a hundred turns in which nothing new is said", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function look(api: CoreMemoryApi, user: string): Promise<Grown> {
    const sections = await api.read(user);
    return {
      facts: sections.flatMap(({ content }) => content.split("\n")),
      versions: sections.reduce((sum, { version }) => sum + version, 0),
      operations: (await api.operations(user)).json.operations.length,
    };
  }

  /** Says what is new, then nothing new for the rest; what there was before and is after. */
  async function talk(api: CoreMemoryApi, facts: readonly string[]): Promise<{ before: Grown; after: Grown }> {
    let last = "";
    for (const fact of facts) last = (await api.say("ada", fact)).conversation_id;
    await api.settle(last);
    const before = await look(api, "ada");
    for (let turn = 0; turn < TURNS; turn++) {
      const done = await api.say("ada", SMALL_TALK[turn % SMALL_TALK.length] ?? "", `session ${turn % 3}`);
      expect(done.receipt.core_memory.length).toBeGreaterThan(0);
      if (turn % 10 === 9) await api.settle(done.conversation_id);
      last = done.conversation_id;
    }
    await api.settle(last);
    return { before, after: await look(api, "ada") };
  }

  test("leave the built-in rules' core memory, its versions and its log as they were, also when the same is said again and again", async () => {
    const service = await openOfflineCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => service.close());
    const facts = ["My name is Ada.", "I live in Porto.", "I like tea.", "我不喜欢香菜。"];
    const { before, after } = await talk(service, facts);
    expect(before.facts.length).toBeGreaterThanOrEqual(3);
    expect(after).toEqual(before);
    let last = "";
    for (let turn = 0; turn < 30; turn++) last = (await service.say("ada", facts[turn % facts.length] ?? "")).conversation_id;
    await service.settle(last);
    expect(await look(service, "ada")).toEqual(before);
  });

  /** Answers with all that core memory says, as if it were the user's own words. */
  function echo({ messages }: ChatRequestBody) {
    const { inside } = takeFencesOut(messages[0]?.content ?? "");
    const known = inside.find(({ tag }) => tag === "core_memory")?.text ?? "";
    return { tokens: ["You told me: ", known, " I live in Paris. My name is Eve."] };
  }

  test("with a model that repeats core memory in each answer, and a memory model that writes down again all it knows, leave facts, versions and log as they were", async () => {
    const running = await openServiceWithCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => running.close());
    running.answer(echo);
    // Keeps each section as it is, and adds the user's own "I …" sentences that it does not say yet: never what only the assistant said.
    running.remember(({ messages }) => {
      if (messages.some(({ role }) => role === "tool")) return { tokens: ["done"] };
      const { inside } = takeFencesOut(messages[1]?.content ?? "");
      const linesIn = (text: string): string[] => text.split("\n").flatMap((line) => (line.startsWith("> ") ? [line.slice(2)] : []));
      const known = linesIn(inside.find(({ tag }) => tag === "core_memory")?.text ?? "");
      const said = inside.flatMap(({ tag, text }) => (tag === "user_message" ? linesIn(text).filter((line) => /^I /.test(line)) : []));
      return { toolCalls: [writing("profile", [...new Set([...known, ...said])].join("\n"))] };
    });
    const { before, after } = await talk(running, ["I live in Porto.", "I have a cat."]);
    expect(before.facts).toEqual(["I live in Porto.", "I have a cat."]);
    expect(after).toEqual(before);
  });

  test("with injected core memory never put it into what the memory model takes for the user's words", async () => {
    const running = await openServiceWithCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => running.close());
    running.answer(echo);
    await running.write("ada", "profile", "Collects marbles 4711");
    for (const message of ["Thanks!", "What do you know about me?", "Yes."])
      await running.settle((await running.say("ada", message)).conversation_id);
    for (const { body } of running.memoryRequests()) {
      const { outside, inside } = takeFencesOut(body.messages[1]?.content ?? "");
      expect(outside).not.toContain("4711");
      expect(inside.filter(({ tag, text }) => tag === "user_message" && text.includes("4711"))).toEqual([]);
      expect(inside.filter(({ tag, text }) => tag === "core_memory" && text.includes("4711"))).toHaveLength(1);
    }
  });
});
