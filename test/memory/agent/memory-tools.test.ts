import { describe, expect, test } from "@jest/globals";
import type { ZodType } from "zod";
import { isToolName, TOOL_ARGUMENTS, toolDefinitions } from "../../../memory/agent/memory-tools.ts";

interface Definition {
  type: string;
  function: {
    name: string;
    description: string;
    parameters: { type: string; properties: Record<string, Record<string, unknown>>; required: string[]; additionalProperties: boolean };
  };
}

const definitions = (sections: string[] = ["profile", "hobbies"]): Definition[] => toolDefinitions(sections) as Definition[];

describe("the memory agent's tools", () => {
  test("are the three that are checked, each described in OpenAI's form", () => {
    expect(definitions().map((tool) => tool.function.name)).toEqual(Object.keys(TOOL_ARGUMENTS));
    for (const { type, function: tool } of definitions()) {
      expect(type).toBe("function");
      expect(tool.description).toMatch(/\w+ \w+/);
      expect(tool.parameters).toMatchObject({ type: "object", additionalProperties: false });
    }
  });

  test.each(Object.keys(TOOL_ARGUMENTS) as (keyof typeof TOOL_ARGUMENTS)[])(
    "%s is described with the fields that are checked, and those required that are",
    (name) => {
      const parameters = definitions().find((tool) => tool.function.name === name)?.function.parameters;
      const shape: Record<string, ZodType> = TOOL_ARGUMENTS[name].shape;
      expect(Object.keys(parameters?.properties ?? {}).sort()).toEqual(Object.keys(shape).sort());
      const required = Object.entries(shape).filter(([, field]) => !field.safeParse(undefined).success);
      expect(parameters?.required.toSorted()).toEqual(required.map(([field]) => field).toSorted());
    },
  );

  test("name the sections that may be written, and no others", () => {
    const [update] = definitions(["profile", "hobbies"]);
    expect(update?.function.parameters.properties["section"]).toEqual({ type: "string", enum: ["profile", "hobbies"] });
  });

  test("are told of with the types of episodes that are taken", () => {
    const insert = definitions()[1]?.function.parameters.properties["episode_type"];
    expect(insert).toEqual({ type: "string", enum: ["preference", "decision", "context", "outcome"] });
  });

  test.each(["core_memory_update", "archival_insert", "archival_search"])("%s is a tool", (name) => expect(isToolName(name)).toBe(true));
  test.each(["", "constructor", "__proto__", "toString", "CORE_MEMORY_UPDATE", "core_memory_update "])("%j is none", (name) => {
    expect(isToolName(name)).toBe(false);
  });

  test("take the ends of every range, and a search without a limit as one for five", () => {
    const { core_memory_update, archival_insert, archival_search } = TOOL_ARGUMENTS;
    expect(core_memory_update.safeParse({ section: "profile", content: "😀".repeat(2_000) }).success).toBe(true);
    for (const importance of [0, 1]) {
      expect(archival_insert.safeParse({ content: "x", episode_type: "outcome", importance }).success).toBe(true);
    }
    expect(archival_search.parse({ query: "x" })).toEqual({ query: "x", limit: 5 });
    for (const limit of [1, 20]) expect(archival_search.parse({ query: "x", limit }).limit).toBe(limit);
    for (const limit of [0, 21, 1.5, "5"]) expect(archival_search.safeParse({ query: "x", limit }).success).toBe(false);
  });
});
