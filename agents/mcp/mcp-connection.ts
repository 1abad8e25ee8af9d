import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { bulkhead } from "cockatiel";
import type { CallToolResult, ElicitRequestFormParams, ElicitResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { withCauses } from "../../errors/with-causes.ts";
import type { AgentTool } from "../tool.ts";
import { AddressRefused } from "../web/public-fetch.ts";
import type { McpServer, McpState, McpTimes } from "./mcp-server.ts";

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Answers what the server asks in the middle of this call. */
  onElicit: OnElicit;
}

/** Null: the person is to be asked first. The call then fails, if the server cannot do without. */
type OnElicit = (asked: ElicitRequestFormParams) => ElicitResult | null;
const NOT_YET = "Nobody has answered yet. The person is asked, and the call is made again with the answer.";

/** A connection to a server that all turns share. */
export interface McpConnection {
  /** Throws McpUnavailable. */
  tools(): Promise<readonly AgentTool[]>;
  /** Throws McpUnavailable, an error of the SDK, or the signal's reason. */
  call(tool: string, given: Record<string, unknown>, options: CallOptions): Promise<CallToolResult>;
  state(): McpState;
  close(): Promise<void>;
}

interface AnyError {
  name?: unknown;
  code?: unknown;
  message?: unknown;
  cause?: unknown;
}

const UNAUTHORIZED = 401;

/** The SDK's error for a user who has to sign in has no name and no code. */
export function isUnknownCaller(error: unknown): boolean {
  const { code, message } = (error ?? {}) as AnyError;
  return code === UNAUTHORIZED || message === "Unauthorized";
}

/** The server itself refused. */
function wasAnswered(error: unknown): boolean {
  const { name, code } = (error ?? {}) as AnyError;
  return name === "McpError" && code !== TIMED_OUT && code !== CONNECTION_CLOSED;
}

export class McpUnavailable extends Error {
  override readonly name = "McpUnavailable";
  /** It answered that it does not know who asks. */
  readonly wantsSignIn: boolean;
  constructor(server: string, problem: string, cause?: unknown) {
    super(`The MCP server "${server}" ${problem}.`, { cause });
    this.wantsSignIn = isUnknownCaller(cause);
  }
}

export const MCP_TIMES: McpTimes = { answerMs: 10_000, idleMs: 300_000, retryMs: 1_000 };

const MOST_RETRY_STEPS = 60;
const MOST_TOOLS = 200;
/** The longest that a timer can be: a call has the deadline of its signal. */
const NEVER_MS = 2_147_483_647;
const UNKNOWN_SESSION = 404;

const TIMED_OUT = -32_001;
const CONNECTION_CLOSED = -32_000;
/** Errors of what was read, by their names. */
const UNREADABLE = new Set(["RangeError", "SyntaxError", "ZodError", "$ZodError"]);

/** Why a server cannot be used, without its own words. */
export function problemOf(error: unknown, { answerMs }: Pick<McpTimes, "answerMs"> = MCP_TIMES): string {
  for (const cause of withCauses(error)) {
    const { name, code } = cause as AnyError;
    if (cause instanceof AddressRefused) return `cannot be reached: ${cause.message.replace(/\.$/, "")}`;
    if (typeof code === "string") return `cannot be reached (${code})`;
    if (name === "McpError")
      return code === TIMED_OUT ? `gave no answer within ${answerMs} ms` : `refused the connection (${String(code)})`;
    if (code !== UNAUTHORIZED && isUnknownCaller(cause)) return "wants its user to sign in";
    if (typeof code === "number" && code > 0) return `answered with status ${code}`;
    if (typeof name === "string" && UNREADABLE.has(name)) return "sent what is no answer of MCP";
  }
  return "cannot be used";
}

export interface McpConnectionParts {
  server: McpServer;
  open: () => Promise<Transport>;
  toTool: (tool: Tool) => AgentTool | null;
  times: McpTimes;
  /** Of one user who signs in. */
  isPersonal?: boolean;
}

/** Connects when it is first used, and again when it is used after it has ended. A server that is down is left alone for a while. */
export function makeMcpConnection({ server, open, toTool, times, isPersonal = false }: McpConnectionParts): McpConnection {
  let connecting: Promise<Client> | null = null;
  let listing: Promise<readonly AgentTool[]> | null = null;
  let isConnected = false;
  let known: number | null = null;
  let failure: McpUnavailable | null = null;
  let problem: string | null = null;
  let failures = 0;
  let retryAt = 0;
  let inUse = 0;
  let idle: NodeJS.Timeout | undefined;
  /** Of the calls that run. What a server asks does not say in which call. */
  const askers = new Set<OnElicit>();
  const oneByOne = bulkhead(1, Infinity);
  let asksPeople = false;
  /** A call was given up: what the server asks now may be about that one. */
  let hasStray = false;

  function forget(): void {
    connecting = null;
    listing = null;
    isConnected = false;
    hasStray = false;
  }

  /** Throws when the person is to be asked first. */
  function answerElicitation(asked: ElicitRequestFormParams): ElicitResult {
    asksPeople = true;
    const [asker, ...others] = askers;
    const answer: ElicitResult | null = asker && others.length === 0 && !hasStray ? asker(asked) : { action: "cancel" };
    if (answer) return answer;
    throw new Error(NOT_YET);
  }

  async function disconnect(): Promise<void> {
    const client = await connecting?.catch(() => null);
    forget();
    await client?.close();
  }

  async function connect(): Promise<Client> {
    const [{ Client }, { ElicitRequestSchema, ToolListChangedNotificationSchema }] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/types.js"),
    ]);
    const client = new Client({ name: "conversation-graph", version: "1" }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answerElicitation(params as ElicitRequestFormParams));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      listing = null;
    });
    client.onclose = forget;
    try {
      await client.connect(await open(), { timeout: times.answerMs });
    } catch (error) {
      client.onclose = () => undefined;
      await client.close().catch(() => undefined); // it never was open
      throw error;
    }
    isConnected = true;
    return client;
  }

  function failed(error: unknown): McpUnavailable {
    problem = problemOf(error, times);
    retryAt = performance.now() + times.retryMs * Math.min(2 ** failures++, MOST_RETRY_STEPS);
    failure = new McpUnavailable(server.name, problem, error);
    if (isPersonal && failure.wantsSignIn) retryAt = 0; // it may have happened meanwhile, at any process
    return failure;
  }

  function connected(): Promise<Client> {
    if (connecting) return connecting;
    if (failure && performance.now() < retryAt) throw failure;
    connecting = connect().catch((error: unknown) => {
      forget();
      throw failed(error);
    });
    return connecting;
  }

  async function use<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    inUse++;
    clearTimeout(idle);
    try {
      return await work(await connected());
    } finally {
      if (--inUse === 0) idle = setTimeout(() => void disconnect(), times.idleMs).unref();
    }
  }

  async function list(client: Client): Promise<readonly AgentTool[]> {
    const { ListToolsResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const found = new Map<string, AgentTool>();
    try {
      for (let cursor: string | undefined; ;) {
        const params = cursor === undefined ? {} : { cursor };
        const page = await client.request({ method: "tools/list", params }, ListToolsResultSchema, { timeout: times.answerMs });
        for (const tool of page.tools.map(toTool)) if (tool && !found.has(tool.name)) found.set(tool.name, tool);
        cursor = page.nextCursor;
        if (cursor === undefined || found.size >= MOST_TOOLS || page.tools.length === 0) break;
      }
    } catch (error) {
      const unavailable = failed(error);
      void disconnect();
      throw unavailable;
    }
    [failures, failure, problem] = [0, null, null];
    const tools = [...found.values()].slice(0, MOST_TOOLS);
    known = tools.length;
    return tools;
  }

  return {
    tools: () => use((client) => (listing ??= list(client))),

    async call(name, given, { signal, onElicit }) {
      const { CallToolResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
      const options = { timeout: NEVER_MS, ...(signal ? { signal } : {}) };
      const askNow = async (client: Client): Promise<CallToolResult> => {
        const asker: OnElicit = (asked) => onElicit(asked);
        askers.add(asker);
        try {
          return await client.request({ method: "tools/call", params: { name, arguments: given } }, CallToolResultSchema, options);
        } catch (error) {
          hasStray ||= !wasAnswered(error);
          throw error;
        } finally {
          askers.delete(asker);
        }
      };
      // A server that asks people gets one call at a time: its next question then belongs to that one.
      const ask = (client: Client) => (asksPeople ? oneByOne.execute(() => askNow(client), signal) : askNow(client));
      return use(async (client) => {
        try {
          return await ask(client);
        } catch (error) {
          if (isUnknownCaller(error)) void disconnect(); // the next turn asks its user to sign in
          if ((error as { code?: unknown }).code !== UNKNOWN_SESSION) throw error;
          await disconnect(); // the server was started anew: it has not run the call
          return ask(await connected());
        }
      });
    },

    state: () => ({ state: isConnected ? "connected" : problem === null ? "idle" : "down", tools: known, problem }),

    async close() {
      clearTimeout(idle);
      await disconnect();
    },
  };
}
