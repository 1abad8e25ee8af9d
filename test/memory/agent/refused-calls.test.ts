import { describe, expect, test } from "@jest/globals";
import type { ToolCall } from "../../../memory/agent/memory-tools.ts";
import { archive, storedSection, TRIGGER, update, workingMemory } from "../../support/samples/sample-agent.ts";

const core = (given: unknown): ToolCall => ({ name: "core_memory_update", arguments: given });
const search = (given: object): ToolCall => ({ name: "archival_search", arguments: given });
const CORE = { operation: "core_update" };
const UNKNOWN = { operation: "unknown_tool" };
const INSERT = { operation: "archival_insert" };
const SEARCH = { operation: "archival_search" };

describe("the memory that the agent works on: what it refuses and logs as refused", () => {
  test.each<[string, ToolCall, RegExp, object]>([
    [
      "an unknown tool",
      { name: "rm", arguments: { content: "x" } },
      /no tool "rm".*core_memory_update/,
      { ...UNKNOWN, reason: "rm", newValue: "x" },
    ],
    ["a tool named like a part of every object", { name: "constructor", arguments: {} }, /no tool "constructor"/, UNKNOWN],
    ["a tool without a name", { name: "", arguments: null }, /no tool ""/, UNKNOWN],
    ["an unknown section", update("secrets", "x"), /no section "secrets".*profile, goals/, { ...CORE, section: "secrets", newValue: "x" }],
    ["a section named like a part of every object", update("constructor", "x"), /no section/, { section: "constructor" }],
    ["the section __proto__", update("__proto__", "x"), /no section/, { section: "__proto__" }],
    ["no arguments", core(undefined), /./, { ...CORE, section: null }],
    ["arguments that are no object", core('{"section":'), /./, CORE],
    ["arguments that are a list", core(["profile"]), /./, CORE],
    ["no content", core({ section: "profile" }), /content: must be a text/, { section: "profile" }],
    ["a content that is a list", core({ section: "profile", content: ["x"] }), /content/, { newValue: null }],
    ["a content that is too long", update("profile", "😀".repeat(2_001)), /more than 2000 characters/, { newValue: "😀".repeat(2_000) }],
    ["a content with a NUL", update("profile", "a\0b"), /cannot be stored/, { newValue: "ab" }],
    ["a content with half a surrogate pair", update("profile", "a\ud83d"), /cannot be stored/, { newValue: "a\ufffd" }],
    ["a reason that is too long", update("profile", "x", "y".repeat(1_001)), /reason/, { reason: "y".repeat(1_001) }],
    ["a blank memory", archive(" "), /content/, INSERT],
    ["a memory of an unknown type", archive("x", { episode_type: "secret" }), /episode_type/, { ...INSERT, newValue: "x" }],
    ["a memory of too much importance", archive("x", { importance: 1.1 }), /importance/, INSERT],
    ["a memory of importance NaN", archive("x", { importance: Number.NaN }), /importance/, INSERT],
    ["a blank search", search({ query: " " }), /query/, SEARCH],
    ["a search for too many", search({ query: "x", limit: 21 }), /limit/, { ...SEARCH, reason: "x" }],
  ])("%s", async (_name, call, says, logged) => {
    const memory = workingMemory({ search: async () => [], sections: [storedSection()] });
    const said = await memory.do(call);
    expect(said).toMatch(/^Refused: /);
    expect(said).toMatch(says);
    expect(memory.contents()).toEqual({ profile: "Name: Ada" });
    const { changes, archived, operations } = memory.result();
    expect({ changes, archived }).toEqual({ changes: [], archived: [] });
    expect(operations).toMatchObject([{ actor: "agent", triggerMessageIds: [TRIGGER.messageId], oldValue: null, ...logged }]);
    expect(`Refused: ${operations[0]?.refused}`).toBe(said);
  });

  test.each([archive("x"), search({ query: "x" })])("$name where the archive is switched off", async (call) => {
    const memory = workingMemory();
    expect(await memory.do(call)).toMatch(/archive is switched off/);
    expect(memory.result()).toMatchObject({ archived: [], operations: [{ refused: "The archive is switched off." }] });
  });
});
