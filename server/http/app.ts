import express, { type Express, type RequestHandler } from "express";
import { agentRoutes } from "../agents/agent-routes.ts";
import { skillRoutes } from "../agents/skill-routes.ts";
import { stepRoutes } from "../agents/step-routes.ts";
import { uiMessageRoutes } from "../ai-sdk/ui-message-routes.ts";
import { authenticate, needsIdentity } from "../auth/authenticate.ts";
import { requireScope, requireWholeTenant } from "../auth/caller.ts";
import { contextRoutes } from "../conversations/context-routes.ts";
import { summaryRoutes } from "../conversations/summary-routes.ts";
import { conversationRoutes } from "../conversations/conversation-routes.ts";
import { branchRoutes } from "../conversations/branch-routes.ts";
import { snapshotRoutes } from "../conversations/snapshot-routes.ts";
import { messageRoutes } from "../conversations/message-routes.ts";
import { importRoutes } from "../conversations/import-routes.ts";
import { langGraphRoutes } from "../langgraph/langgraph-routes.ts";
import { documentRoutes } from "../knowledge/document-routes.ts";
import { knowledgeRoutes } from "../knowledge/knowledge-routes.ts";
import { countRequests, userInBody } from "../limits/rate-limits.ts";
import { mcpServerRoutes } from "../mcp/mcp-server-routes.ts";
import { signInRoutes } from "../mcp/sign-in-routes.ts";
import { mcpRoutes } from "../mcp/mcp-routes.ts";
import { coreMemoryRoutes } from "../memory/core-memory-routes.ts";
import { episodeRoutes } from "../memory/episode-routes.ts";
import { eraseRoutes } from "../memory/erase-routes.ts";
import { exportRoutes } from "../memory/export-routes.ts";
import { jobRoutes } from "../memory/job-routes.ts";
import { healthRoutes } from "../observe/health-routes.ts";
import { metricsRoute } from "../observe/metrics.ts";
import { modelRoutes } from "../observe/model-routes.ts";
import { usageRoutes } from "../observe/usage-routes.ts";
import { settingsRoutes } from "../observe/settings-routes.ts";
import { statusRoutes } from "../observe/status-routes.ts";
import { watchRequests } from "../observe/open-observing.ts";
import { embeddingRoutes } from "../openai/embedding-routes.ts";
import { openaiRoutes, readTurnJson } from "../openai/openai-routes.ts";
import { openaiConversationRoutes } from "../openai/responses/conversation-routes.ts";
import { responseRoutes } from "../openai/responses/response-routes.ts";
import { pageRoutes } from "../page/page-routes.ts";
import { chatRoutes } from "../turns/chat-routes.ts";
import { decisionRoutes } from "../turns/decision-routes.ts";
import { questionRoutes } from "../turns/question-routes.ts";
import { bytesOfPictures } from "../turns/message-parts.ts";
import { turnRoutes } from "../turns/turn-routes.ts";
import type { AppParts } from "./app-parts.ts";
import { LONGEST_INSTRUCTIONS } from "../../turn/context.ts";
import { errorResponse } from "./error-response.ts";
import { openApiRoutes } from "./openapi/openapi-routes.ts";
import { parseQuery } from "./parse-request.ts";
import { readJson, requireJson } from "./read-body.ts";
import { unknownRoute } from "./unknown-route.ts";
import { allowOrigins, refuseCrossSite, requireOwnHost, securityHeaders } from "./web-security.ts";
import { buildDescription } from "./openapi/build-description.ts";

/** A surrogate pair written as two \u escapes. */
const BYTES_PER_CHARACTER = 12;
const OTHER_FIELDS_BYTES = 16 * 1024;

/** Below /api/v1. */
const TAKE_PICTURES: ReadonlySet<string> = new Set(["/chat", "/chat/stream"]);

export function makeApp(parts: AppParts): Express {
  const { config, stores, memory, limits, observing, identity, log } = parts;
  const { CORS_ORIGINS: corsOrigins, MAX_MESSAGE_CHARS: maxMessageChars } = config;
  const maxBodyBytes = (maxMessageChars + LONGEST_INSTRUCTIONS) * BYTES_PER_CHARACTER + OTHER_FIELDS_BYTES;
  const needsKey = needsIdentity(identity);
  const readOrdinary = readJson(maxBodyBytes);
  const readChat = parts.readLargeJson({ limitBytes: maxBodyBytes + bytesOfPictures(config), ordinaryBytes: maxBodyBytes });
  const readWholeChat = readTurnJson(parts);
  const readerOf = (path: string): RequestHandler =>
    path === "/chat/ui-messages" ? readWholeChat : TAKE_PICTURES.has(path) ? readChat : readOrdinary;
  const readBody: RequestHandler = (request, response, proceed) => readerOf(request.path)(request, response, proceed);
  return express()
    .disable("x-powered-by")
    .disable("etag")
    .set("trust proxy", config.TRUST_PROXY ?? false)
    .set("query parser", parseQuery)
    .use(watchRequests({ ...observing, log }))
    .use(parts.idle.middleware)
    .use(securityHeaders(), ...(needsKey ? [] : [requireOwnHost(config.ALLOWED_HOSTS)]))
    .use(...(corsOrigins ? allowOrigins(corsOrigins) : []), refuseCrossSite({ corsOrigins, needsKey }))
    .use(healthRoutes(parts.health), pageRoutes(), signInRoutes(parts)) // what needs no key
    .use(openApiRoutes(() => buildDescription({ maxMessageChars, sections: memory.sections })))
    .use(authenticate(identity), countRequests(limits.rates))
    .use(mcpRoutes(parts), requireScope)
    .use("/metrics", requireWholeTenant)
    .use(metricsRoute({ stores, health: parts.health, metrics: observing.metrics, log }))
    .use(openaiRoutes(parts), embeddingRoutes(parts), responseRoutes(parts), openaiConversationRoutes(parts))
    .use(langGraphRoutes(parts))
    .use(importRoutes(parts), knowledgeRoutes(parts), documentRoutes(parts), skillRoutes(parts)) // with body limits of their own
    .use("/api/v1", requireJson, readBody, limits.rates.ofUser(userInBody))
    .use(
      chatRoutes(parts),
      uiMessageRoutes(parts),
      turnRoutes(parts),
      questionRoutes(parts),
      decisionRoutes(parts),
      agentRoutes(parts),
      stepRoutes(parts),
      mcpServerRoutes(parts),
      conversationRoutes(parts),
      branchRoutes(parts),
      messageRoutes(parts),
      snapshotRoutes(parts),
      contextRoutes(parts),
      summaryRoutes(parts),
      episodeRoutes(parts),
      coreMemoryRoutes(parts),
      eraseRoutes(parts),
      exportRoutes(parts),
      jobRoutes(parts),
      statusRoutes(parts),
      settingsRoutes(parts),
      modelRoutes(parts),
      usageRoutes(parts),
    )
    .use(unknownRoute)
    .use(errorResponse(log, maxBodyBytes));
}
