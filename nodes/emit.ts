import type { TurnRuntime } from "../graph/turn-context.ts";
import type { NodeEvent } from "../graph/turn-event.ts";

/**
 * Sends an event to whoever runs this turn: to its own sink, else to LangGraph's custom stream (Studio), which costs 20 µs an event
 * more; to nobody when the graph is only invoked.
 */
export function emit({ context, writer }: TurnRuntime, event: NodeEvent): void {
  const send = context?.onEvent ?? writer;
  send?.(event);
}
