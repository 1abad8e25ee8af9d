import { toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import type { TurnRuntime } from "../turn/context.ts";
import { abortable, startDeadline } from "../models/deadlines.ts";
import type { CoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import type { Node } from "./node.ts";

export interface CoreMemoryParts {
  /** Null: the layer is switched off. */
  coreMemory: Pick<CoreMemoryStore, "load"> | null;
  /** Milliseconds for the read. */
  timeoutMs: number;
}

/** Said also when there is nothing: in a thread, the state still has what the turn before has loaded. */
const NOTHING: ConversationUpdate = { coreMemory: [], coreMemoryErasure: null };

/**
 * Loads what is known about the user. Never fails the turn: what cannot be had within its time is left out, and `degraded` says so. Runs
 * beside history, so it may be older than an erase that history sees; then it is not used: see `usableCoreMemory`.
 */
export function makeCoreMemory({ coreMemory, timeoutMs }: CoreMemoryParts): Node {
  return async function loadCoreMemory({ tenantId, userId }: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    if (!coreMemory) return NOTHING;
    using deadline = startDeadline(timeoutMs);
    try {
      const { sections, lastErasure } = await abortable(() => coreMemory.load({ tenantId, userId }), deadline.signal);
      runtime.note?.({ sections: sections.map(({ section, version }) => ({ section, version })) });
      return {
        coreMemory: sections.map(({ section, content, version }) => ({ section, content, version })),
        coreMemoryErasure: lastErasure,
      };
    } catch (error) {
      runtime.context?.onError?.(toAppError(error));
      return { ...NOTHING, degraded: ["core_memory"] };
    }
  };
}

/** The sections that may go into the prompt: none when the user was erased between their reading and the beginning of the turn. */
export function usableCoreMemory({
  coreMemory,
  coreMemoryErasure,
  lastErasure,
}: Pick<ConversationState, "coreMemory" | "coreMemoryErasure" | "lastErasure">): ConversationState["coreMemory"] {
  return coreMemoryErasure === lastErasure ? coreMemory : [];
}
