import type { TurnRuntime } from "../graph/turn-context.ts";
import type { NodeEvent } from "../graph/turn-event.ts";

/** Sends an event to whoever streams this run; nobody does when the graph is invoked. */
export function emit(runtime: TurnRuntime, event: NodeEvent): void {
  runtime.writer?.(event);
}
