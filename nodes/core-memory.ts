import { toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate, CoreSection } from "../turn/state.ts";
import type { TurnRuntime } from "../turn/context.ts";
import { abortable, startDeadline } from "../models/deadlines.ts";
import type { CoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import type { Node } from "./node.ts";

export interface CoreMemoryParts {
  /** Null: the layer is off. */
  coreMemory: Pick<CoreMemoryStore, "load"> | null;
  timeoutMs: number;
}

/** Overwrites what an earlier turn of the thread has loaded. */
const NOTHING: ConversationUpdate = { coreMemory: [], coreMemoryErasure: null };

/** Loads core memory. When that fails or is too slow, the turn goes on, and `degraded` names the layer. */
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

/** The sections for the prompt; none when an erase happened between the reads of `history` and `core_memory`, which run in parallel. */
export function usableCoreMemory(state: Pick<ConversationState, "coreMemory" | "coreMemoryErasure" | "lastErasure">): CoreSection[] {
  return state.coreMemoryErasure === state.lastErasure ? state.coreMemory : [];
}
