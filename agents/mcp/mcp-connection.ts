import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { bulkhead } from "cockatiel";
import type { CallToolResult, ElicitRequestFormParams, ElicitResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { abortable, startDeadline } from "../../turn/deadlines.ts";
import type { AgentTool } from "../tool.ts";
import { isUnknownCaller, McpUnavailable, problemOf, wasAnswered } from "./mcp-problems.ts";
import type { McpServer, McpState, McpTimes } from "./mcp-server.ts";

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Answers what the server asks during this call. */
  onElicit: OnElicit;
}

/** Null: the person must be asked first. The call then fails, if the server cannot do without. */
type OnElicit = (asked: ElicitRequestFormParams) => ElicitResult | null;
const NOT_YET = "Nobody has answered yet. The person is asked, and the call is made again with the answer.";

/** A connection to a server that all turns share. */
export interface McpConnection {
  /** Throws McpUnavailable, or the signal's reason: the others still wait for the list. */
  tools(signal?: AbortSignal): Promise<readonly AgentTool[]>;
  /** Throws McpUnavailable, an error of the SDK, or the signal's reason. */
  call(tool: string, given: Record<string, unknown>, options: CallOptions): Promise<CallToolResult>;
  state(): McpState;
  close(): Promise<void>;
}

export const MCP_TIMES: McpTimes = { answerMs: 10_000, idleMs: 300_000, retryMs: 1_000 };

const MOST_RETRY_STEPS = 60;
const MOST_TOOLS = 200;
const MOST_PAGES = 50;
/** The longest timer: a call has its signal's deadline. */
const NEVER_MS = 2_147_483_647;
const UNKNOWN_SESSION = 404;

export interface McpConnectionParts {
  server: McpServer;
  open: () => Promise<Transport>;
  toTool: (tool: Tool) => AgentTool | null;
  times: McpTimes;
  /** It belongs to one user who signs in. */
  isPersonal?: boolean;
}

/** Connects at the first use, and again after its end. Leaves a server that is down alone for a while. */
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
  /** The running calls' askers. A server does not say which call it asks about. */
  const askers = new Set<OnElicit>();
  const oneByOne = bulkhead(1, Infinity);
  let asksPeople = false;
  /** A call was given up: the server may still ask about it. */
  let hasStray = false;
  const closing = new AbortController();

  function forget(): void {
    connecting = null;
    listing = null;
    isConnected = false;
    hasStray = false;
  }

  /** Throws when the person must be asked first. */
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
    using deadline = startDeadline(times.answerMs, closing.signal);
    async function openClient(): Promise<void> {
      const transport = await open();
      deadline.signal.throwIfAborted(); // nobody would close it
      await client.connect(transport, { timeout: times.answerMs });
    }
    try {
      await abortable(openClient, deadline.signal);
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
    const names = new Set<string>();
    const until = performance.now() + times.answerMs;
    try {
      let cursor: string | undefined;
      for (let pages = 0; pages < MOST_PAGES && found.size < MOST_TOOLS; pages++) {
        const params = cursor === undefined ? {} : { cursor };
        const timeout = Math.max(1, until - performance.now());
        const page = await client.request({ method: "tools/list", params }, ListToolsResultSchema, { timeout });
        const before = names.size;
        for (const { name } of page.tools) names.add(name);
        for (const tool of page.tools.map(toTool)) if (tool && !found.has(tool.name)) found.set(tool.name, tool);
        cursor = page.nextCursor;
        if (cursor === undefined || names.size === before) break;
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
    tools: (signal) => abortable(() => use((client) => (listing ??= list(client))), signal),

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
          await disconnect(); // a restarted server has not run the call
          return ask(await connected());
        }
      });
    },

    state: () => ({ state: isConnected ? "connected" : problem === null ? "idle" : "down", tools: known, problem }),

    async close() {
      clearTimeout(idle);
      closing.abort(new Error("the connection is closed"));
      await disconnect();
    },
  };
}
