import type { ConversationGraph } from "../../graph/build-graph.ts";
import type { ReadLargeJson } from "../http/read-body.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Memory } from "../parts/open-memory.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { TurnParts } from "../turns/find-turn.ts";
import type { Assistants } from "./assistants.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { makeOpenRun } from "./open-run.ts";
import type { makeThreadStates } from "./thread-history.ts";
import type { Threads } from "./threads.ts";

export interface LangGraphParts {
  threads: Threads;
  assistants: Assistants;
  checkpoints: Checkpoints;
  states: ReturnType<typeof makeThreadStates>;
  openRun: ReturnType<typeof makeOpenRun>;
}

export interface LangGraphRouteParts extends TurnParts {
  graph: ConversationGraph;
  stores: Stores;
  memory: Memory;
  agents: Agents;
  limits: Limits;
  readLargeJson: ReadLargeJson;
  heartbeatMs: number;
}
