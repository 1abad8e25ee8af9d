import { millisecondsSince } from "../turn/events.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { Observer } from "../observe/observer.ts";

/** A step of a turn, as LangGraph calls it. */
export type Node = (state: ConversationState, runtime: TurnRuntime) => Promise<ConversationUpdate>;

function noteInto(notes: Record<string, unknown>, { context, writer, callbacks }: TurnRuntime): TurnRuntime {
  return { context, writer, callbacks, note: (facts) => void Object.assign(notes, facts) };
}

/** Adds to a node its milliseconds in `timings` and, in debug, its facts in the execution log. */
export function instrumented(name: string, node: Node, observer: Observer): Node {
  return async function measuredNode(state, runtime) {
    runtime.context?.onNodeStart?.(name);
    const began = performance.now();
    const notes: Record<string, unknown> = {};
    const update = await observer.watch({ work: "node", name }, async (learn) => {
      const updated = await node(state, state.debug ? noteInto(notes, runtime) : runtime);
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
