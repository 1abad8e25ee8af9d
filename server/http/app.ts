import express, { type Express } from "express";
import type { Logger } from "pino";
import { authenticate, type IdentityParts, needsIdentity } from "../auth/authenticate.ts";
import { allowOrigins, refuseCrossSite, requireOwnHost, securityHeaders } from "./web-security.ts";
import { type CoreMemoryRouteParts, coreMemoryRoutes } from "../memory/core-memory-routes.ts";
import { type ChatRouteParts, chatRoutes } from "../turns/chat-routes.ts";
import { type ConversationMemoryParts, conversationMemoryRoutes } from "../memory/summary-routes.ts";
import { type ConversationRouteParts, conversationRoutes } from "../conversations/conversation-routes.ts";
import { type EpisodeRouteParts, episodeRoutes } from "../memory/episode-routes.ts";
import { errorResponse, unknownRoute } from "./error-response.ts";
import { type ExportRouteParts, exportRoutes } from "../memory/export-routes.ts";
import { type HealthParts, healthRoutes } from "../observe/health-routes.ts";
import { assertUtf8, limitBody, requireJson } from "./read-body.ts";
import { type ImportRouteParts, importRoutes } from "../conversations/import-routes.ts";
import { countRequests, userInBody } from "../limits/rate-limits.ts";
import { type KnowledgeRouteParts, knowledgeRoutes } from "../knowledge/knowledge-routes.ts";
import { jobRoutes } from "../memory/job-routes.ts";
import { metricsRoute, type MetricsRouteParts } from "../observe/metrics.ts";
import { watchRequests, type WatchRequestsParts } from "../observe/watch-requests.ts";
import { makeOpenTurn, type OpenTurnParts } from "../turns/open-turn.ts";
import { type OpenAIRouteParts, openaiRoutes } from "../openai/openai-routes.ts";
import { openApiRoutes } from "./openapi/openapi-routes.ts";
import { pageRoutes } from "../page/page-routes.ts";
import { parseQuery } from "./parse-request.ts";
import type { IdleDetector } from "./idle-detector.ts";
import { requireScope, requireWholeTenant } from "../auth/caller.ts";
import { type StatusParts, statusRoutes } from "../observe/status-routes.ts";
import { type TurnRouteParts, turnRoutes } from "../turns/turn-routes.ts";
import { type UserRouteParts, userRoutes } from "../memory/erase-routes.ts";
import { documentRoutes, type DocumentRouteParts } from "../knowledge/document-routes.ts";

export interface AppParts
  extends
    Omit<ChatRouteParts, "openTurn">,
    HealthParts,
    ConversationRouteParts,
    ConversationMemoryParts,
    CoreMemoryRouteParts,
    ImportRouteParts,
    KnowledgeRouteParts,
    DocumentRouteParts,
    EpisodeRouteParts,
    ExportRouteParts,
    IdentityParts,
    Omit<OpenAIRouteParts, "openTurn">,
    OpenTurnParts,
    MetricsRouteParts,
    TurnRouteParts,
    WatchRequestsParts,
    StatusParts,
    UserRouteParts {
  /** Whose web pages may call; undefined: nobody's. */
  corsOrigins: readonly string[] | undefined;
  /** Names besides localhost under which a service without keys answers. */
  allowedHosts: readonly string[] | undefined;
  /** Which proxies are believed, as Express takes it; undefined: none. */
  trustProxy: string | number | undefined;
  requestsFirst: IdleDetector;
  log: Logger;
}

/** Bytes one character of a message can take in JSON: a surrogate pair written as two \u escapes. */
const BYTES_PER_CHARACTER = 12;
/** Room for the other fields of a body. */
const OTHER_FIELDS_BYTES = 16 * 1024;

/** The HTTP interface. Statuses and server-sent events exist only in this folder. */
export function makeApp(parts: AppParts): Express {
  const maxBodyBytes = parts.maxMessageChars * BYTES_PER_CHARACTER + OTHER_FIELDS_BYTES;
  const openTurn = makeOpenTurn(parts);
  const needsKey = needsIdentity(parts);
  return express()
    .disable("x-powered-by")
    .disable("etag")
    .set("trust proxy", parts.trustProxy ?? false)
    .set("query parser", parseQuery)
    .use(watchRequests(parts))
    .use(parts.requestsFirst.notice)
    .use(securityHeaders(), ...(needsKey ? [] : [requireOwnHost(parts.allowedHosts)]))
    .use(...(parts.corsOrigins ? [allowOrigins(parts.corsOrigins)] : []), refuseCrossSite({ ...parts, needsKey }))
    .use(healthRoutes(parts), pageRoutes()) // whatever needs no key stands here
    .use(authenticate(parts), countRequests(parts.rates), requireScope)
    .use("/metrics", requireWholeTenant)
    .use(metricsRoute(parts))
    .use(openApiRoutes(parts))
    .use("/v1", openaiRoutes({ ...parts, openTurn }))
    .use("/api/v1", importRoutes(parts))
    .use(knowledgeRoutes(parts), documentRoutes(parts)) // with body limits of their own
    .use(
      "/api/v1",
      requireJson,
      limitBody(maxBodyBytes, express.json({ limit: maxBodyBytes, verify: assertUtf8 })),
      parts.rates.ofUser(userInBody),
    )
    .use("/api/v1", chatRoutes({ ...parts, openTurn }), turnRoutes(parts))
    .use(
      conversationRoutes(parts),
      conversationMemoryRoutes(parts),
      episodeRoutes(parts),
      coreMemoryRoutes(parts),
      userRoutes(parts),
      exportRoutes(parts),
      jobRoutes(parts),
      statusRoutes(parts),
    )
    .use(unknownRoute)
    .use(errorResponse(parts.log, maxBodyBytes));
}
