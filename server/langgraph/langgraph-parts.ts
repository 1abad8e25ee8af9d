import type { Assistants } from "./assistants.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { makeOpenRun } from "./open-run.ts";
import type { makeThreadStates } from "./thread-history.ts";
import type { Threads } from "./threads.ts";

/** What the routes of LangGraph's protocol share. */
export interface LangGraphParts {
  threads: Threads;
  assistants: Assistants;
  checkpoints: Checkpoints;
  states: ReturnType<typeof makeThreadStates>;
  openRun: ReturnType<typeof makeOpenRun>;
}
