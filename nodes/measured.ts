import { millisecondsSince } from "../graph/milliseconds-since.ts";
import type { ConversationState, ConversationUpdate } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import { emit } from "./emit.ts";

export type Node = (state: ConversationState, runtime: TurnRuntime) => Promise<ConversationUpdate>;

/** The node with its milliseconds in `timings` and, in debug, an entry in the execution log. */
export function measured(name: string, node: Node): Node {
  return async function measuredNode(state, runtime) {
    const began = performance.now();
    const update = await node(state, runtime);
    const ms = millisecondsSince(began);
    const timed: ConversationUpdate = { ...update, timings: { [name]: ms } };
    if (!state.debug) return timed;
    const log = { node: name, ms, wrote: Object.keys(update) };
    emit(runtime, { status: "execution_log", content: log });
    return { ...timed, executionLogs: [log] };
  };
}
