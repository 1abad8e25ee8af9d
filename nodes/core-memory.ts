import { toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import type { TurnRuntime, Node } from "../turn/context.ts";
import { abortable, startDeadline } from "../turn/deadlines.ts";
import type { CoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import { isTakingBack } from "../turn/turn-input.ts";
import type { FollowPaths } from "../stores/postgres/memory/follow-paths.ts";

export interface CoreMemoryParts {
  /** Null: the layer is off. */
  coreMemory: Pick<CoreMemoryStore, "load"> | null;
  timeoutMs: number;
}

/** Overwrites what an earlier turn of the thread has loaded. */
const NOTHING: ConversationUpdate = { coreMemory: [], coreMemoryErasure: null };

/** Loads core memory. If that fails or is too slow, the turn goes on, and `degraded` names the layer. */
export function makeCoreMemory({ coreMemory, timeoutMs }: CoreMemoryParts): Node {
  return async function loadCoreMemory({ tenantId, userId }: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    if (!coreMemory) return NOTHING;
    using deadline = startDeadline(timeoutMs, runtime.context?.signal);
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

/**
 * For a turn on a new branch: `history` must begin it first. Then core memory loads without lines that rest only on messages off the path.
 * The node itself, beside `history`, does nothing.
 */
export function makeFollowingCoreMemory(load: Node, followPaths: FollowPaths): { coreMemory: Node; followedCoreMemory: Node } {
  return {
    coreMemory: async (state, runtime) => (isTakingBack(state) ? {} : load(state, runtime)),
    async followedCoreMemory(state, runtime) {
      try {
        await followPaths({ tenantId: state.tenantId, userId: state.userId });
      } catch (error) {
        runtime.context?.onError?.(toAppError(error));
        return { ...NOTHING, degraded: ["core_memory"] };
      }
      return load(state, runtime);
    },
  };
}
