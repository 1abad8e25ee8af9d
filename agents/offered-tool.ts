import { toJsonSchema } from "@langchain/core/utils/json_schema";
import type { CallerTool } from "../turn/caller-tools.ts";
import type { AgentTool } from "./tool.ts";

/**
 * Of texts and lists. llama.cpp makes grammars of schemas, and refuses the whole request for a text of 2,000 characters. A call is checked
 * by the whole schema before it runs.
 */
const LENGTHS = new Set(["minLength", "maxLength", "minItems", "maxItems"]);

function withoutLengths(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutLengths);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([name, value]) => !(LENGTHS.has(name) && typeof value === "number"));
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutLengths(value)]));
}

/** Most tools are the same in every turn. */
const offered = new WeakMap<AgentTool["tool"], CallerTool>();

/** A tool as a model's server is told of it; one of the caller's as the caller wrote it. */
export function offeredTool({ tool, asSent }: AgentTool): CallerTool {
  const known = asSent ?? offered.get(tool);
  if (known) return known;
  const parameters = withoutLengths(toJsonSchema(tool.schema)) as Record<string, unknown>;
  const made: CallerTool = { type: "function", function: { name: tool.name, description: tool.description, parameters } };
  offered.set(tool, made);
  return made;
}
