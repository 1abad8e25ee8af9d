import type { RequestListener } from "node:http";
import type { ToolHooks } from "../../agents/run-tool-call.ts";
import type { AgentTool } from "../../agents/tool.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import type { TurnInput } from "../../graph/start-turn.ts";
import type { AgentSpecInput } from "../../turn/agent.ts";
import type { TurnResult } from "../../turn/events.ts";

/** What a program adds to the agents of its service. */
export interface AgentExtras {
  /** Agents of the system tier by name, besides those of AGENTS_DIR. */
  agents?: Readonly<Record<string, AgentSpecInput>>;
  /** Tools that agents may name: see `fromLangChainTool`. */
  tools?: readonly AgentTool[];
  /** Run around every call of a tool. */
  hooks?: ToolHooks;
}

/** The service in this process: the same graph, HTTP routes and jobs with every layer as `npm start` has them. */
export interface Service {
  /** For `startTurn`, which streams. */
  graph: ConversationGraph;
  /** The HTTP routes: `createServer(service.app)`, or below a path of an app of Express. */
  app: RequestListener;
  /** One turn, answered as a whole. Waits while another turn has the conversation. Throws AppError, such as `invalid_request`. */
  ask(input: TurnInput): Promise<TurnResult>;
  /** Waits at most 30 seconds until memory has taken in a conversation; false when it has not. */
  settle(conversation: { tenantId?: string; userId: string; conversationId: string }): Promise<boolean>;
  /** Lets running turns finish within SHUTDOWN_GRACE_MS. */
  close(): Promise<void>;
}
