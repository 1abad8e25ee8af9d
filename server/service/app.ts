import express, { type Express, type RequestHandler } from "express";
import { agentRoutes } from "../api/agents/agent-routes.ts";
import { skillRoutes } from "../api/agents/skill-routes.ts";
import { agentRunRoutes } from "../api/agents/agent-run-routes.ts";
import { ruleRoutes } from "../api/agents/rule-routes.ts";
import { stepRoutes } from "../api/agents/step-routes.ts";
import { uiMessageRoutes } from "../ai-sdk/ui-message-routes.ts";
import { authenticate, needsIdentity, type IdentityParts } from "../auth/authenticate.ts";
import { requireScope, requireWholeTenant } from "../auth/caller.ts";
import { contextRoutes } from "../api/conversations/context-routes.ts";
import { summaryRoutes } from "../api/conversations/summary-routes.ts";
import { conversationRoutes } from "../api/conversations/conversation-routes.ts";
import { branchRoutes } from "../api/conversations/branch-routes.ts";
import { snapshotRoutes } from "../api/conversations/snapshot-routes.ts";
import { messageRoutes } from "../api/conversations/message-routes.ts";
import { importRoutes } from "../api/conversations/import-routes.ts";
import { langGraphRoutes } from "../langgraph/langgraph-routes.ts";
import { documentRoutes } from "../api/knowledge/document-routes.ts";
import { knowledgeRoutes } from "../api/knowledge/knowledge-routes.ts";
import { countRequests, userInBody } from "../limits/rate-limits.ts";
import { mcpServerRoutes } from "../api/mcp/mcp-server-routes.ts";
import { signInRoutes } from "../api/mcp/sign-in-routes.ts";
import { mcpRoutes } from "../mcp/mcp-routes.ts";
import { coreMemoryRoutes } from "../api/memory/core-memory-routes.ts";
import { episodeRoutes } from "../api/memory/episode-routes.ts";
import { eraseRoutes } from "../api/memory/erase-routes.ts";
import { exportRoutes } from "../api/memory/export-routes.ts";
import { jobRoutes } from "../api/memory/job-routes.ts";
import { healthRoutes } from "../api/observe/health-routes.ts";
import { metricsRoute } from "../observe/metrics.ts";
import { modelRoutes } from "../api/observe/model-routes.ts";
import { usageRoutes } from "../api/observe/usage-routes.ts";
import { settingsRoutes } from "../api/observe/settings-routes.ts";
import { statusRoutes } from "../api/observe/status-routes.ts";
import { watchRequests, type Observing } from "../observe/open-observing.ts";
import { embeddingRoutes } from "../openai/embedding-routes.ts";
import { openaiRoutes, readTurnJson } from "../openai/openai-routes.ts";
import { openaiConversationRoutes } from "../openai/responses/conversation-routes.ts";
import { responseRoutes } from "../openai/responses/response-routes.ts";
import { pageRoutes } from "../page/page-routes.ts";
import { chatRoutes } from "../api/turns/chat-routes.ts";
import { decisionRoutes } from "../api/turns/decision-routes.ts";
import { questionRoutes } from "../api/turns/question-routes.ts";
import { bytesOfPictures } from "../turns/read-parts.ts";
import { turnRoutes } from "../api/turns/turn-routes.ts";
import { LONGEST_INSTRUCTIONS } from "../../turn/context.ts";
import { errorResponse } from "../http/error-response.ts";
import { openApiRoutes } from "../openapi/openapi-routes.ts";
import { parseQuery } from "../http/parse-request.ts";
import { readJson, requireJson, type ReadLargeJson } from "../http/read-body.ts";
import { unknownRoute } from "../openapi/operations.ts";
import { allowOrigins, refuseCrossSite, requireOwnHost, securityHeaders } from "../http/web-security.ts";
import { buildDescription } from "../openapi/build-description.ts";
import type { Logger } from "pino";
import type { Limits } from "../limits/open-limits.ts";
import type { HealthChecks } from "../observe/health.ts";
import type { OpenGraph } from "./open-graph.ts";
import type { Config } from "../settings/config.ts";
import type { Turns } from "../turns/open-turn.ts";
import type { IdleDetector } from "../http/idle-detector.ts";

interface AppParts extends Omit<OpenGraph, "close"> {
  config: Config;
  turns: Turns;
  limits: Limits;
  observing: Observing;
  identity: IdentityParts;
  health: HealthChecks;
  idle: IdleDetector;
  readLargeJson: ReadLargeJson;
  heartbeatMs: number;
  log: Logger;
}

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
      agentRunRoutes(parts),
      ruleRoutes(parts),
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
