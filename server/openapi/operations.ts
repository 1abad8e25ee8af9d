import { agentOperations } from "../api/agents/agent-routes.ts";
import { skillOperations } from "../api/agents/skill-routes.ts";
import { uiMessageOperations } from "../ai-sdk/ui-message-routes.ts";
import { agentRunOperations } from "../api/agents/agent-run-routes.ts";
import { ruleOperations } from "../api/agents/rule-routes.ts";
import { stepOperations } from "../api/agents/step-routes.ts";
import { contextOperations } from "../api/conversations/context-routes.ts";
import { conversationOperations } from "../api/conversations/conversation-routes.ts";
import { summaryOperations } from "../api/conversations/summary-routes.ts";
import { branchOperations } from "../api/conversations/branch-routes.ts";
import { snapshotOperations } from "../api/conversations/snapshot-routes.ts";
import { messageOperations } from "../api/conversations/message-routes.ts";
import { importOperations } from "../api/conversations/import-routes.ts";
import { assistantOperations } from "../langgraph/assistant-routes.ts";
import { langGraphOperations } from "../langgraph/langgraph-routes.ts";
import { runOperations } from "../langgraph/run-routes.ts";
import { threadlessRunOperations } from "../langgraph/runs-without-thread.ts";
import { storeOperations } from "../langgraph/store-routes.ts";
import { checkpointOperations } from "../langgraph/checkpoint-routes.ts";
import { stateOperations } from "../langgraph/state-routes.ts";
import { threadOperations } from "../langgraph/thread-routes.ts";
import { documentOperations } from "../api/knowledge/document-routes.ts";
import { knowledgeOperations } from "../api/knowledge/knowledge-routes.ts";
import { coreMemoryOperations } from "../api/memory/core-memory-routes.ts";
import { episodeOperations } from "../api/memory/episode-routes.ts";
import { eraseOperations } from "../api/memory/erase-routes.ts";
import { exportOperations } from "../api/memory/export-routes.ts";
import { conversationJobOperations, jobOperations } from "../api/memory/job-routes.ts";
import { mcpServerOperations } from "../api/mcp/mcp-server-routes.ts";
import { signInOperations } from "../api/mcp/sign-in-routes.ts";
import { mcpOperations } from "../mcp/mcp-routes.ts";
import { healthOperations } from "../api/observe/health-routes.ts";
import { metricsOperations } from "../observe/metrics.ts";
import { modelOperations } from "../api/observe/model-routes.ts";
import { usageOperations } from "../api/observe/usage-routes.ts";
import { settingsOperations } from "../api/observe/settings-routes.ts";
import { statusOperations } from "../api/observe/status-routes.ts";
import { embeddingOperations } from "../openai/embedding-routes.ts";
import { openaiOperations } from "../openai/openai-routes.ts";
import { openaiConversationOperations } from "../openai/responses/conversation-routes.ts";
import { responseOperations } from "../openai/responses/response-routes.ts";
import { pageOperations } from "../page/page-routes.ts";
import { chatOperations } from "../api/turns/chat-routes.ts";
import { decisionOperations } from "../api/turns/decision-routes.ts";
import { questionOperations } from "../api/turns/question-routes.ts";
import { turnOperations } from "../api/turns/turn-routes.ts";
import { descriptionOperations } from "./openapi-routes.ts";
import { listOperations, type Operation, type OperationGroup } from "../http/operation.ts";
import type { RequestHandler } from "express";
import { AppError } from "../../errors/app-error.ts";

export const GROUPS: readonly OperationGroup[] = [
  chatOperations,
  uiMessageOperations,
  turnOperations,
  questionOperations,
  decisionOperations,
  conversationOperations,
  branchOperations,
  messageOperations,
  snapshotOperations,
  contextOperations,
  summaryOperations,
  conversationJobOperations,
  importOperations,
  episodeOperations,
  coreMemoryOperations,
  exportOperations,
  eraseOperations,
  agentOperations,
  skillOperations,
  stepOperations,
  agentRunOperations,
  ruleOperations,
  mcpServerOperations,
  knowledgeOperations,
  documentOperations,
  openaiOperations,
  embeddingOperations,
  assistantOperations,
  threadOperations,
  stateOperations,
  checkpointOperations,
  runOperations,
  threadlessRunOperations,
  storeOperations,
  langGraphOperations,
  mcpOperations,
  signInOperations,
  responseOperations,
  openaiConversationOperations,
  pageOperations,
  healthOperations,
  metricsOperations,
  statusOperations,
  settingsOperations,
  modelOperations,
  usageOperations,
  jobOperations,
  descriptionOperations,
];

export const OPERATIONS: readonly Operation[] = GROUPS.flatMap(listOperations);

/** As Express matches: `:id` is a part of a path, `*id` all the rest. */
const toExpression = (path: string): RegExp =>
  new RegExp(`^${path.replace(/\./g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*\w+/g, ".+")}/?$`, "i");
const ROUTES = OPERATIONS.map(({ method, path }) => ({ method: method.toUpperCase(), path: toExpression(path) }));

/** 405 with `Allow` where other methods are known, else 404. */
export const unknownRoute: RequestHandler = ({ method, path }, response) => {
  const known = ROUTES.filter((route) => route.path.test(path)).map((route) => route.method);
  const allowed = [...new Set(known.includes("GET") ? [...known, "HEAD"] : known)];
  if (allowed.length === 0 || allowed.includes(method))
    throw new AppError("not_found", `There is no ${method} ${path}. /docs and /openapi.json list the routes.`);
  response.set("allow", allowed.join(", "));
  throw new AppError("method_not_allowed", `${path} takes no ${method}. Send ${allowed.join(" or ")}; /docs says what it wants.`);
};
