import { expect, test } from "@jest/globals";
import { matchesPattern } from "../../../agents/tool.ts";
import { permissionFor } from "../../../agents/questions/permissions.ts";
import type { Agent } from "../../../turn/agent.ts";

test.each([
  ["calculate", "calculate", true],
  ["calculate", "calculated", false],
  ["*", "anything", true],
  ["mcp__docs__*", "mcp__docs__search", true],
  ["mcp__docs__*", "mcp__mail__send", false],
  ["*search", "memory_search", true],
  ["a*b*c", "a1b2c", true],
  ["a*b*c", "abc", true],
  ["a*b*c", "acb", false],
  ["a*a", "a", false],
  ["mcp__bank__*", "mcp__bank___pay", true],
  ["mcp__*__pay", "mcp__bank__pay", true],
  ["mcp__*__pay", "mcp__bank__not__pay", false],
  ["mcp__bank*__pay", "mcp__bank__x__pay", false],
  ["mcp__bank__x*", "mcp__bank__x__pay", true],
  ["mcp__*pay", "mcp__bank__pay", true],
  ["mcp__bank__*", "mcp__bank", false],
])("pattern %s on %s matches: %s", (pattern, name, matches) => {
  expect(matchesPattern(pattern, name)).toBe(matches);
});

type Rules = Agent["permissions"];

test.each<[why: string, rules: Rules, isHarmless: boolean, action: string]>([
  ["a harmless tool without a rule", [], true, "allow"],
  ["a tool that changes something without a rule", [], false, "ask"],
  ["a rule that allows", [{ tool: "mcp__docs__write", action: "allow" }], false, "allow"],
  ["a rule that denies a harmless tool", [{ tool: "mcp__docs__write", action: "deny" }], true, "deny"],
  [
    "the most specific rule, whatever its place",
    [
      { tool: "mcp__docs__write", action: "allow" },
      { tool: "mcp__*", action: "deny" },
    ],
    false,
    "allow",
  ],
  [
    "a longer pattern before a shorter",
    [
      { tool: "mcp__*", action: "deny" },
      { tool: "mcp__docs__*", action: "allow" },
    ],
    false,
    "allow",
  ],
  [
    "deny among equally specific ones",
    [
      { tool: "mcp__docs__*", action: "allow" },
      { tool: "mcp__docs__*", action: "deny" },
    ],
    false,
    "deny",
  ],
  [
    "ask before allow among equally specific ones",
    [
      { tool: "*", action: "allow" },
      { tool: "*", action: "ask" },
    ],
    true,
    "ask",
  ],
  ["a rule for another tool", [{ tool: "calculate", action: "allow" }], false, "ask"],
])("%s decides", (_why, permissions, isHarmless, action) => {
  expect(permissionFor(permissions, { name: "mcp__docs__write", isHarmless })).toBe(action);
});
