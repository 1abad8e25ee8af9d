import { createHash } from "node:crypto";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { canonicalJson } from "../text/canonical-json.ts";
import type { Agent, PermissionAction } from "../turn/agent.ts";
import { matchesPattern } from "./glob.ts";
import type { AgentTool } from "./tool.ts";

type Rule = Agent["permissions"][number];

/** The number of named characters. A pattern without `*` is the most specific. */
function specificity({ tool }: Rule): number {
  return tool.includes("*") ? tool.replaceAll("*", "").length : Infinity;
}

/** The most specific matching rule; of equals deny before ask before allow. */
function ruleFor(rules: readonly Rule[], toolName: string): Rule | undefined {
  const strictness: PermissionAction[] = ["allow", "ask", "deny"];
  const [first] = rules
    .filter(({ tool }) => matchesPattern(tool, toolName))
    .sort((one, other) => specificity(other) - specificity(one) || strictness.indexOf(other.action) - strictness.indexOf(one.action));
  return first;
}

/** What may be done with a call of the tool. Without a rule, harmless tools are allowed; all else asks. */
export function permissionFor(rules: readonly Rule[], { name, isHarmless }: Pick<AgentTool, "name" | "isHarmless">): PermissionAction {
  return ruleFor(rules, name)?.action ?? (isHarmless ? "allow" : "ask");
}

/** A digest of what the model is told about a tool. A lasting permission is for this digest only. */
export function toolDigest({ tool }: Pick<AgentTool, "tool">): string {
  const described = canonicalJson([tool.name, tool.description, toJsonSchema(tool.schema)]);
  return createHash("sha256").update(described).digest("base64url");
}
