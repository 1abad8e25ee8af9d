import { readFile } from "node:fs/promises";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { HttpSpec, MCP_SERVER_NAME, type McpServer, NAME_PROBLEM, StdioSpec } from "./mcp-server.ts";

const McpConfig = z.strictObject({ mcpServers: z.record(z.string(), z.record(z.string(), z.unknown())) });
const VARIABLE = /\$\{(\w+)\}/g;

const refuse = (problem: string, cause?: unknown): AppError => new AppError("invalid_configuration", `MCP_CONFIG: ${problem}`, { cause });

type Environment = Readonly<Record<string, string | undefined>>;

/** Replaces `${NAME}` by the environment's values. */
function expand(value: unknown, where: string, environment: Environment): unknown {
  if (Array.isArray(value)) return value.map((inner) => expand(inner, where, environment));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, expand(inner, `${where}.${name}`, environment)]));
  if (typeof value !== "string") return value;
  return value.replaceAll(VARIABLE, (_whole, name: string) => {
    const found = environment[name];
    if (found === undefined) throw refuse(`${where}: the environment has no ${name}. Set it.`);
    return found;
  });
}

/** Folders are no secrets, and a server that works in one has to name it. */
const IS_PATH = /^(?:[./~\\]|[A-Za-z]:[\\/])/;

/** A program's arguments from the environment: many take their keys there. */
function secretArguments({ args }: Record<string, unknown>, environment: Environment): string[] {
  const names = [...JSON.stringify(args ?? []).matchAll(VARIABLE)].map(([, name = ""]) => name);
  return names.flatMap((name) => environment[name] ?? []).filter((value) => !IS_PATH.test(value));
}

function describeIssues(issues: readonly z.core.$ZodIssue[], within: string): string {
  return issues.map(({ path, message }) => `${[within, ...path].filter((part) => part !== "").join(".")}: ${message}`).join("; ");
}

function parseServer(name: string, written: Record<string, unknown>, environment: Environment): McpServer {
  const where = `mcpServers.${name}`;
  if (!MCP_SERVER_NAME.test(name)) throw refuse(`${where}: the name ${NAME_PROBLEM}`);
  const given = expand(written, where, environment) as Record<string, unknown>;
  if ("url" in given === "command" in given) throw refuse(`${where}: must have a command or a url`);
  const parsed = ("url" in given ? HttpSpec : StdioSpec).safeParse(given);
  if (!parsed.success) throw refuse(describeIssues(parsed.error.issues, where));
  return { name, tier: "system", spec: parsed.data, secretArguments: secretArguments(written, environment) };
}

/**
 * The servers of a file in the usual form, `{"mcpServers": {NAME: {"command", "args"?, "env"?} or {"url", "headers"?}}}`. Throws AppError
 * `invalid_configuration` that names the field and quotes no value.
 */
export async function loadMcpConfig(file: string, environment: Environment): Promise<McpServer[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw refuse(`"${file}" cannot be read.`, error);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse(`"${file}" is no JSON.`); // the parser's words quote it
  }
  const parsed = McpConfig.safeParse(value);
  if (!parsed.success) throw refuse(describeIssues(parsed.error.issues, ""));
  return Object.entries(parsed.data.mcpServers).map(([name, written]) => parseServer(name, written, environment));
}
