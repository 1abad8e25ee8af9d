import { millisecondsSince } from "../turn/events.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";

export type Node = (state: ConversationState, runtime: TurnRuntime) => Promise<ConversationUpdate>;

/** In debug the node may note what it did; else there is nobody to tell, and it computes nothing for it. */
function withNotes(runtime: TurnRuntime, notes: Record<string, unknown>): TurnRuntime {
  const { context, writer, callbacks } = runtime;
  return { context, writer, callbacks, note: (facts) => void Object.assign(notes, facts) };
}

/** The node with its milliseconds in `timings` and, in debug, an entry in the execution log with what it noted. */
export function instrumented(name: string, node: Node, observer: Observer = NOOP_OBSERVER): Node {
  return async function measuredNode(state, runtime) {
    runtime.context?.onNode?.(name);
    const began = performance.now();
    const notes: Record<string, unknown> = {};
    const update = await observer.watch({ work: "node", name }, async (learn) => {
      const updated = await node(state, state.debug ? withNotes(runtime, notes) : runtime);
      const { error } = updated as Pick<ConversationState, "error">;
      if (error) learn({ outcome: error.code });
      return updated;
    });
    const ms = millisecondsSince(began);
    const timed: ConversationUpdate = { ...update, timings: { [name]: ms } };
    if (!state.debug) return timed;
    const log = { ...notes, node: name, ms, wrote: Object.keys(update) };
    emit(runtime, { status: "execution_log", content: log });
    return { ...timed, executionLogs: [log] };
  };
}
