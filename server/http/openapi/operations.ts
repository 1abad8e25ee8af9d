import { conversationOperations } from "../../conversations/conversation-routes.ts";
import { knowledgeOperations } from "../../knowledge/knowledge-routes.ts";
import { coreMemoryOperations } from "../../memory/core-memory-routes.ts";
import { episodeOperations } from "../../memory/episode-routes.ts";
import { eraseOperations } from "../../memory/erase-routes.ts";
import { exportOperations } from "../../memory/export-routes.ts";
import { jobOperations } from "../../memory/job-routes.ts";
import { conversationMemoryOperations } from "../../memory/summary-routes.ts";
import { healthOperations } from "../../observe/health-routes.ts";
import { metricsOperations } from "../../observe/metrics.ts";
import { statusOperations } from "../../observe/status-routes.ts";
import { pageOperations } from "../../page/page-routes.ts";
import { CONVERSATION_OPERATIONS } from "./conversation-operations.ts";
import { OPENAI_OPERATIONS } from "./openai-operations.ts";
import { listOperations, type Operation, type OperationGroup } from "./operation.ts";
import { SERVICE_OPERATIONS } from "./service-operations.ts";
import { TURN_OPERATIONS } from "./turn-operations.ts";
import { documentOperations } from "../../knowledge/document-routes.ts";

const AFTER_IMPORT: readonly OperationGroup[] = [
  episodeOperations,
  coreMemoryOperations,
  exportOperations,
  eraseOperations,
  knowledgeOperations,
  documentOperations,
];
const OF_THE_SERVICE: readonly OperationGroup[] = [pageOperations, healthOperations, metricsOperations, statusOperations, jobOperations];
const OF_CONVERSATIONS: readonly OperationGroup[] = [conversationOperations, conversationMemoryOperations];
export const GROUPS = [...OF_CONVERSATIONS, ...AFTER_IMPORT, ...OF_THE_SERVICE];

/** Everything the service can be asked for over HTTP. */
export const OPERATIONS: readonly Operation[] = [
  ...TURN_OPERATIONS,
  ...OF_CONVERSATIONS.flatMap(listOperations),
  ...CONVERSATION_OPERATIONS,
  ...AFTER_IMPORT.flatMap(listOperations),
  ...OPENAI_OPERATIONS,
  ...OF_THE_SERVICE.flatMap(listOperations),
  ...SERVICE_OPERATIONS,
];
