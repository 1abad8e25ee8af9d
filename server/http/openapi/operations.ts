import { CONVERSATION_OPERATIONS } from "./conversation-operations.ts";
import { KNOWLEDGE_OPERATIONS } from "./knowledge-operations.ts";
import { MEMORY_OPERATIONS } from "./memory-operations.ts";
import { OPENAI_OPERATIONS } from "./openai-operations.ts";
import type { Operation } from "./operation.ts";
import { SERVICE_OPERATIONS } from "./service-operations.ts";
import { TURN_OPERATIONS } from "./turn-operations.ts";

/** Everything the service can be asked for over HTTP. */
export const OPERATIONS: readonly Operation[] = [
  ...TURN_OPERATIONS,
  ...CONVERSATION_OPERATIONS,
  ...MEMORY_OPERATIONS,
  ...KNOWLEDGE_OPERATIONS,
  ...OPENAI_OPERATIONS,
  ...SERVICE_OPERATIONS,
];
