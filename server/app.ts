import express, { type Express } from "express";
import type { Logger } from "pino";
import { authenticate, type ApiKey } from "./authenticate.ts";
import { coreMemoryRoutes, type CoreMemoryRouteParts } from "./core-memory-routes.ts";
import { chatRoutes, type ChatRouteParts } from "./chat-routes.ts";
import { conversationMemoryRoutes, type ConversationMemoryParts } from "./conversation-memory-routes.ts";
import { conversationRoutes, type ConversationRouteParts } from "./conversation-routes.ts";
import { episodeRoutes, type EpisodeRouteParts } from "./episode-routes.ts";
import { errorResponse, unknownRoute } from "./error-response.ts";
import { healthRoutes, type HealthParts } from "./health-routes.ts";
import { assertUtf8 } from "./assert-utf8.ts";
import { importRoutes, type ImportRouteParts } from "./import-routes.ts";
import { knowledgeRoutes, type KnowledgeRouteParts } from "./knowledge-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { metricsRoute } from "./metrics-route.ts";
import { requireJson } from "./require-json.ts";
import { userRoutes, type UserRouteParts } from "./user-routes.ts";

export interface AppParts
  extends
    ChatRouteParts,
    HealthParts,
    ConversationRouteParts,
    ConversationMemoryParts,
    CoreMemoryRouteParts,
    ImportRouteParts,
    KnowledgeRouteParts,
    EpisodeRouteParts,
    UserRouteParts {
  apiKeys: ApiKey[] | undefined;
  log: Logger;
}

/** Bytes one character of a message can take in JSON: a surrogate pair written as two \u escapes. */
const BYTES_PER_CHARACTER = 12;
/** Room for the other fields of a body. */
const OTHER_FIELDS_BYTES = 16 * 1024;

/** The HTTP interface. Statuses and server-sent events exist only in this folder. */
export function makeApp(parts: AppParts): Express {
  const maxBodyBytes = parts.maxMessageChars * BYTES_PER_CHARACTER + OTHER_FIELDS_BYTES;
  return express()
    .disable("x-powered-by")
    .disable("etag")
    .use(healthRoutes(parts))
    .use(authenticate(parts.apiKeys))
    .use(metricsRoute(parts))
    .use("/api/v1", importRoutes(parts), knowledgeRoutes(parts)) // with body limits of their own
    .use("/api/v1", requireJson, express.json({ limit: maxBodyBytes, verify: assertUtf8 }))
    .use(
      "/api/v1",
      chatRoutes(parts),
      conversationRoutes(parts),
      conversationMemoryRoutes(parts),
      episodeRoutes(parts),
      coreMemoryRoutes(parts),
      userRoutes(parts),
      jobRoutes(parts),
    )
    .use(unknownRoute)
    .use(errorResponse(parts.log, maxBodyBytes));
}
