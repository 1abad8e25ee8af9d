import express, { type Express } from "express";
import type { Logger } from "pino";
import { authenticate, needsIdentity, type IdentityParts } from "./authenticate.ts";
import { allowOrigins } from "./cors.ts";
import { coreMemoryRoutes, type CoreMemoryRouteParts } from "./core-memory-routes.ts";
import { chatRoutes, type ChatRouteParts } from "./chat-routes.ts";
import { conversationMemoryRoutes, type ConversationMemoryParts } from "./conversation-memory-routes.ts";
import { conversationRoutes, type ConversationRouteParts } from "./conversation-routes.ts";
import { episodeRoutes, type EpisodeRouteParts } from "./episode-routes.ts";
import { errorResponse, unknownRoute } from "./error-response.ts";
import { exportRoutes, type ExportRouteParts } from "./export-routes.ts";
import { healthRoutes, type HealthParts } from "./health-routes.ts";
import { assertUtf8 } from "./assert-utf8.ts";
import { importRoutes, type ImportRouteParts } from "./import-routes.ts";
import { bodyWithin } from "./limits/body-within.ts";
import { countRequests, userInBody } from "./limits/count-requests.ts";
import { knowledgeRoutes, type KnowledgeRouteParts } from "./knowledge-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { metricsRoute, type MetricsRouteParts } from "./metrics-route.ts";
import { watchRequests, type WatchRequestsParts } from "./observe/watch-requests.ts";
import { makeOpenTurn, type OpenTurnParts } from "./open-turn.ts";
import { openaiRoutes, type OpenAIRouteParts } from "./openai/openai-routes.ts";
import { openApiRoutes } from "./openapi/openapi-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import { parseQuery } from "./parse-query.ts";
import { refuseCrossSite } from "./refuse-cross-site.ts";
import { requireJson } from "./require-json.ts";
import { requireOwnHost } from "./require-own-host.ts";
import type { RequestsFirst } from "./requests-first.ts";
import { requireScope, requireWholeTenant } from "./scopes.ts";
import { securityHeaders } from "./security-headers.ts";
import { statusRoutes, type StatusParts } from "./status-routes.ts";
import { turnRoutes, type TurnRouteParts } from "./turn-routes.ts";
import { userRoutes, type UserRouteParts } from "./user-routes.ts";

export interface AppParts
  extends
    Omit<ChatRouteParts, "openTurn">,
    HealthParts,
    ConversationRouteParts,
    ConversationMemoryParts,
    CoreMemoryRouteParts,
    ImportRouteParts,
    KnowledgeRouteParts,
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
  requestsFirst: RequestsFirst;
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
    .use("/api/v1", importRoutes(parts), knowledgeRoutes(parts)) // with body limits of their own
    .use(
      "/api/v1",
      requireJson,
      bodyWithin(maxBodyBytes, express.json({ limit: maxBodyBytes, verify: assertUtf8 })),
      parts.rates.ofUser(userInBody),
    )
    .use(
      "/api/v1",
      chatRoutes({ ...parts, openTurn }),
      turnRoutes(parts),
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
