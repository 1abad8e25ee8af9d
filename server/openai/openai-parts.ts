import type { ModelFactsSource } from "../../models/facts/model-facts.ts";
import type { ReadLargeJson } from "../http/read-body.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { UsageMeter } from "../limits/usage-meter.ts";
import type { Observing } from "../observe/open-observing.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Memory } from "../parts/open-memory.ts";
import type { Models } from "../parts/open-models.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { TurnParts } from "../turns/find-turn.ts";

export interface OpenAIParts extends TurnParts {
  stores: Stores;
  models: Models;
  facts: ModelFactsSource;
  memory: Memory;
  agents: Agents;
  limits: Limits;
  meter: UsageMeter;
  observing: Observing;
  readLargeJson: ReadLargeJson;
  heartbeatMs: number;
}
