import type { RequestListener } from "node:http";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import type { TurnResult } from "../../turn/events.ts";

/** The service in this process, with the same graph, HTTP routes and jobs as `npm start`. */
export interface Service {
  /** For `startTurn`, which streams. */
  graph: ConversationGraph;
  /** The HTTP routes: `createServer(service.app)`, or below a path of an app of Express. */
  app: RequestListener;
  /** Answers one turn as a whole. Waits while another turn has the conversation. Throws AppError, such as `invalid_request`. */
  ask(input: TurnInput): Promise<TurnResult>;
  /** Waits at most 30 seconds until memory has taken in a conversation; false when it has not. */
  settle(conversation: { tenantId?: string; userId: string; conversationId: string }): Promise<boolean>;
  /** Lets running turns finish within SHUTDOWN_GRACE_MS. */
  close(): Promise<void>;
}
