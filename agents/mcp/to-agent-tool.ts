import { createHash } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { storableJson, storableText } from "../../text/storable-text.ts";
import type { Elicit } from "../../turn/elicited-form.ts";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";
import { toForm } from "./to-form.ts";
import { MCP_TIMES, type McpConnection } from "./mcp-connection.ts";
import { isUnknownCaller, McpUnavailable, problemOf } from "./mcp-problems.ts";
import { type McpServer, redact } from "./mcp-server.ts";

const DESCRIPTION_CHARACTERS = 1_024;
const MOST_SCHEMA_CHARACTERS = 20_000;
const LONGEST_NAME = 64;
const MOST_ERROR_CHARACTERS = 2_000;
const FIND_OUT = "It is not known whether the call ran. Find out before you call it again, or do without it.";

/** A name that models can call: a hash replaces other characters and long ends. */
export function toolNameOf(server: string, name: string): string {
  const full = `mcp__${server}__${name}`;
  if (/^[\w-]+$/.test(full) && full.length <= LONGEST_NAME) return full;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${full.replaceAll(/[^\w-]/g, "_").slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
}

/** A stranger's pattern could run for very long; the server checks it itself. */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, inner]) => {
      const isPattern = (name === "pattern" && typeof inner === "string") || name === "patternProperties";
      return isPattern ? [] : [[name, withoutPatterns(inner)]];
    }),
  );
}

type Part = CallToolResult["content"][number];

/** A picture in LangChain's form, or null. */
function pictureOf(part: Part): { type: "image"; mimeType: string; data: string } | null {
  if (part.type === "image") return { type: "image", mimeType: part.mimeType, data: part.data };
  const { mimeType = "", blob } = part.type === "resource" && "blob" in part.resource ? part.resource : {};
  return blob !== undefined && mimeType.startsWith("image/") ? { type: "image", mimeType, data: blob } : null;
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "resource":
      return "text" in part.resource ? part.resource.text : `[${part.resource.mimeType ?? "a file"} left out: ${part.resource.uri}]`;
    case "resource_link":
      return `[${part.name}: ${part.uri}]`;
    default:
      return `[${part.mimeType} left out]`;
  }
}

function toText({ content, structuredContent }: CallToolResult): string {
  if (content.length === 0 && structuredContent) return JSON.stringify(structuredContent);
  return content.map(partText).join("\n");
}

/** Throws ToolError; the reason of a signal as it is. */
function refuse(thrown: unknown, { name }: McpServer, show: (text: string) => string, signal: AbortSignal | undefined): never {
  if (thrown instanceof ToolError || signal?.aborted) throw thrown;
  if (isUnknownCaller(thrown) || (thrown instanceof McpUnavailable && thrown.wantsSignIn))
    throw new ToolError(
      "sign_in_needed",
      `The user is no longer signed in at the MCP server "${name}".`,
      "Ask the user to try again and to sign in.",
    );
  if (thrown instanceof McpUnavailable) throw new ToolError("mcp_unavailable", thrown.message, "Do without it, or try again later.");
  if (!(thrown instanceof Error) || thrown.name !== "McpError")
    throw new ToolError("mcp_failed", `The MCP server "${name}" ${problemOf(thrown, MCP_TIMES)}.`, FIND_OUT);
  const said = show(thrown.message).slice(0, MOST_ERROR_CHARACTERS);
  if ((thrown as { code?: unknown }).code === -32_602) throw new ToolError("invalid_arguments", said, "Correct the arguments.");
  throw new ToolError("mcp_failed", `The MCP server "${name}" failed: ${said}`, FIND_OUT);
}

export interface ToolParts {
  server: McpServer;
  connection: () => McpConnection;
  /** What nobody may see. */
  secrets: () => readonly string[];
  trustHints: boolean;
}

/**
 * A server's tool for agents; null when its schema is too large. Its description is data: cut, and without the server's secrets. Its hints
 * count with `trustHints` only.
 */
export function toAgentTool(
  { name: own, description = "", inputSchema, annotations }: Tool,
  { server, connection, secrets, trustHints }: ToolParts,
): AgentTool | null {
  const show = (text: string): string => redact(storableText(text), secrets());
  const schema = JSON.parse(show(storableJson(withoutPatterns(inputSchema)))) as Record<string, unknown>;
  if (JSON.stringify(schema).length > MOST_SCHEMA_CHARACTERS) return null;
  const name = toolNameOf(server.name, own);
  async function call(given: Record<string, unknown>, config?: RunnableConfig) {
    const signal = config?.signal;
    const elicit = config?.configurable?.["elicit"] as Elicit | undefined;
    try {
      const result = await connection().call(own, given, {
        signal,
        onElicit(asked) {
          const { message, requestedSchema } = asked;
          const form = toForm(server.name, JSON.parse(show(storableJson({ message, requestedSchema }))) as typeof asked);
          if (!form || !elicit) return { action: "cancel" };
          const content = elicit(form);
          return content && { action: "accept", content };
        },
      });
      const text = show(toText(result));
      if (result.isError) throw new ToolError("tool_failed", text.slice(0, MOST_ERROR_CHARACTERS), "Correct the call, or do without it.");
      if (!result.content.some(pictureOf)) return text;
      return result.content.map((part) => pictureOf(part) ?? { type: "text", text: show(partText(part)) });
    } catch (thrown) {
      return refuse(thrown, server, show, signal);
    }
  }
  const onlyReads = trustHints && annotations?.readOnlyHint === true;
  return {
    name,
    isHarmless: onlyReads,
    onlyReads,
    // Its arguments are checked before a call. LangChain would check them again, and a stranger's schema may take for ever.
    tool: Object.assign(
      new DynamicStructuredTool({
        name,
        description: show(description).slice(0, DESCRIPTION_CHARACTERS).toWellFormed(),
        schema,
        func: (given: Record<string, unknown>, _run, config?: RunnableConfig) => call(given, config),
      }),
      { invoke: call },
    ),
  };
}
