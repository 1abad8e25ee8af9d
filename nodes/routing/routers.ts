import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AppError, toAppError } from "../../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { TURN_DEFAULTS } from "../../turn/context.ts";
import { type EmbeddingRoute, makeRouteByEmbedding, type RouteEmbedder } from "./route-by-embedding.ts";
import { AMONG_AGENTS, type Choice, makeRouteByModel, type RouterAnswer } from "./route-by-model.ts";
import type { AgentRouteParts } from "./route-to-agent.ts";

export interface RouterParts {
  /** Null: no route by meaning. */
  embedder?: RouteEmbedder | null;
  /** Asked when meaning is not clear. */
  routerModel?: BaseChatModel | null;
  /** For the embedder, and again for the router model. Default 800. */
  timeoutMs?: number;
  observer?: Observer;
}

/** The message to route. `onError`: is told why a router gives no answer. */
export interface RoutedMessage {
  tenantId: string;
  message: string;
  signal?: AbortSignal | undefined;
  onError?: ((error: AppError) => void) | undefined;
}

/** Each gives null when it fails: the message is routed without it. */
export interface Routers {
  byEmbedding: ((routed: RoutedMessage, bases: readonly KnowledgeBase[], isTie: boolean) => Promise<EmbeddingRoute | null>) | null;
  byModel: ((routed: RoutedMessage, among: Choice, bases: readonly KnowledgeBase[]) => Promise<RouterAnswer | null>) | null;
}

async function attempt<Answer>({ signal, onError }: RoutedMessage, ask: () => Promise<Answer>): Promise<Answer | null> {
  if (signal?.aborted) return null;
  return ask().catch((error: unknown) => {
    onError?.(toAppError(error));
    return null;
  });
}

export function makeRouters(parts: RouterParts): Routers {
  const { embedder = null, routerModel = null, observer = NOOP_OBSERVER, timeoutMs = TURN_DEFAULTS.memoryReadTimeoutMs } = parts;
  const byEmbedding = embedder && makeRouteByEmbedding(embedder, { timeoutMs, observer });
  const byModel = routerModel && makeRouteByModel(routerModel, { timeoutMs, observer });
  return {
    byEmbedding:
      byEmbedding &&
      ((routed, bases, isTie) => {
        const { tenantId, message, signal } = routed;
        return attempt(routed, () => byEmbedding({ tenantId, message, bases, isTie, signal }));
      }),
    byModel:
      byModel &&
      ((routed, among, bases) => {
        const { message, signal } = routed;
        return attempt(routed, () => byModel({ message, among, bases, signal }));
      }),
  };
}

/** The routers as `routeToAgent` asks them. */
export const amongAgents = ({ byEmbedding, byModel }: Routers, routed: RoutedMessage): AgentRouteParts => ({
  byEmbedding: byEmbedding && ((bases, isTie) => byEmbedding(routed, bases, isTie)),
  byModel: byModel && ((bases) => byModel(routed, AMONG_AGENTS, bases)),
});
