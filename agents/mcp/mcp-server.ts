import { z } from "zod";
import type { Owner } from "../../turn/owner.ts";
import { matchesPattern, serverPartOf, type AgentTool, type WantedTools } from "../tool.ts";

/** Two underscores separate it from the tool's name, so it neither ends with one nor holds two. */
export const MCP_SERVER_NAME = /^(?!_|.*__|.*_$)[A-Za-z0-9_-]{1,32}$/;
/** A tenant may have stored such a name before it was refused. It can be seen and deleted. */
export const STORED_SERVER_NAME = /^[A-Za-z0-9_-]{1,32}$/;
export const NAME_PROBLEM = "must have 1 to 32 letters, digits, dashes and single underscores, and no underscore at its ends";

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
/** Headers that the connection itself sets. */
const OWN_HEADERS = new Set("accept connection content-length content-type host mcp-session-id te transfer-encoding upgrade".split(" "));
const HEADER_VALUE = /^[\t\x20-\x7e]{0,8000}$/;

const headers = z
  .record(
    z
      .string()
      .regex(HEADER_NAME, "is no name of a header")
      .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), "is set by the service itself; leave it out"),
    z.string("must be a string").regex(HEADER_VALUE, "is no value of a header: visible ASCII characters"),
    "must be an object of names and values",
  )
  .refine((given) => Object.keys(given).length <= 20, "has more than 20 headers")
  .default({});

const address = z
  .string({ error: ({ input }) => (input === undefined ? "is missing; send the address of the server" : "must be a string") })
  .refine((text) => text.length <= 2_000, "has more than 2000 characters")
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    "must be an address that begins with https:// or http://",
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === "",
    "holds a name or password; send a header",
  );

export const HttpSpec = z.strictObject({ type: z.enum(["http", "streamable-http"]).optional(), url: address, headers });
export type HttpSpec = z.infer<typeof HttpSpec>;

/** A server that is a process of this machine. */
export const StdioSpec = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1, "is empty"),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
});
export type StdioSpec = z.infer<typeof StdioSpec>;

export interface McpServer {
  name: string;
  /** `system`: of MCP_CONFIG, for all tenants. */
  tier: "system" | "tenant";
  spec: HttpSpec | StdioSpec;
  /** A program's secret arguments. Default: none. */
  secretArguments?: readonly string[];
}

/** Where a user's tokens may be sent; empty for a program. */
export const originOf = ({ spec }: Pick<McpServer, "spec">): string => ("url" in spec ? new URL(spec.url).origin : "");

/** Its requests already say who asks: nobody signs in. */
export const hasOwnKey = ({ spec }: McpServer): boolean =>
  !("url" in spec) || Object.keys(spec.headers).some((name) => name.toLowerCase() === "authorization");

const SHORTEST_SECRET = 6;
/** A longer part of a path may be a key. */
const KEY_CHARACTERS = 20;
export const mayBeKey = (segment: string): boolean => segment.length >= KEY_CHARACTERS;

function secretsOfAddress(url: string): string[] {
  const { pathname, searchParams } = new URL(url);
  return [...searchParams.values(), ...pathname.split("/").filter(mayBeKey)];
}

/** The secret values of headers, the environment and an address. */
export function secretsOf({ spec, secretArguments = [] }: Pick<McpServer, "spec" | "secretArguments">): string[] {
  const given =
    "url" in spec ? [...Object.values(spec.headers), ...secretsOfAddress(spec.url)] : [...Object.values(spec.env), ...secretArguments];
  const words = given.flatMap((value) => [value, ...value.split(/\s+/)]); // Bearer TOKEN
  return [...new Set(words)].filter((word) => word.length >= SHORTEST_SECRET).sort((one, other) => other.length - one.length);
}

export function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, "[secret]"), text);
}

/** Whether a pattern can match a name that begins like this. */
function mayBeginWith(pattern: string, prefix: string): boolean {
  const [head = ""] = pattern.split("*", 1);
  return head.startsWith(prefix) || (pattern.includes("*") && prefix.startsWith(head));
}

/** Whether a pattern can match a tool of this server. */
export function mayName(pattern: string, serverName: string): boolean {
  const ofServers = serverPartOf(pattern);
  return ofServers === undefined ? mayBeginWith(pattern, `mcp__${serverName}__`) : matchesPattern(ofServers, serverName);
}

export const mayNameAny = (pattern: string): boolean => mayBeginWith(pattern, "mcp__");

export interface McpState {
  state: "idle" | "connected" | "down";
  /** How many it offered when last asked. */
  tools: number | null;
  /** Why it is down, in our own words: a server's may quote its secrets. */
  problem: string | null;
}

export interface McpTimes {
  /** For connecting, and for listing the tools. */
  answerMs: number;
  /** It is closed after so long without a call. */
  idleMs: number;
  /** The pause before a server that was down is tried again; doubled each time, up to 60 times as long. */
  retryMs: number;
}

export interface McpServerState extends McpState {
  name: string;
  tier: McpServer["tier"];
}

export interface McpServers {
  /** Tools of the servers that the patterns can name. A server that is down or too slow is reported, and its tools are missing. */
  tools(owner: Owner, wanted: WantedTools): Promise<AgentTool[]>;
  /** The system's and the tenant's, as far as this process knows. */
  states(tenantId: string): Promise<McpServerState[]>;
  close(): Promise<void>;
}
