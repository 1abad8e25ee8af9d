import type { Logger } from "pino";
import type { ModelFactsSource } from "../../models/facts/model-facts.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import type { PreviewPrompt } from "../../graph/preview-prompt.ts";
import type { CompactConversation } from "../../memory/summary/summarise-conversation.ts";
import type { PromptLimits } from "../../models/facts/prompt-limits.ts";
import type { IdentityParts } from "../auth/authenticate.ts";
import type { UsageMeter } from "../limits/usage-meter.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { HealthChecks } from "../observe/health.ts";
import type { Observing } from "../observe/open-observing.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Config } from "../settings/config.ts";
import type { Mcp } from "../parts/open-mcp.ts";
import type { Memory } from "../parts/open-memory.ts";
import type { Models } from "../parts/open-models.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Turns } from "../turns/open-turn.ts";
import type { IdleDetector } from "../http/idle-detector.ts";
import type { ReadLargeJson } from "../http/read-body.ts";

export interface AppParts {
  config: Config;
  graph: ConversationGraph;
  stores: Stores;
  models: Models;
  memory: Memory;
  facts: ModelFactsSource;
  meter: UsageMeter;
  promptLimits: PromptLimits;
  /** Null: nothing is summarised. */
  compact: CompactConversation | null;
  previewPrompt: PreviewPrompt;
  agents: Agents;
  mcp: Mcp;
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
