import type { Usage } from "../../graph/state.ts";
import type { Owner } from "../../stores/owner.ts";
import type { Slots } from "./slots.ts";
import type { TokenQuota } from "./token-quota.ts";

/** What becomes of a task that was let in. */
export interface LimitedTask {
  /** What it has used, before its answer is whole. */
  onUsage: (usage: Usage) => void;
  /** Must be called once, however it ends. */
  onEnd: () => void;
}

/** What a front end's own task passes: it asks the model without being a turn. */
export interface TaskLimits {
  /** Takes a slot of the user and tenant. Throws AppError `too_many_turns` or `token_quota_exceeded`. */
  begin(owner: Owner): Promise<LimitedTask>;
}

export function makeTaskLimits({ slots, quota }: { slots: Slots; quota: Pick<TokenQuota, "assertLeft" | "add"> }): TaskLimits {
  return {
    async begin(owner) {
      const free = slots.take(owner);
      try {
        await quota.assertLeft(owner.tenantId);
      } catch (error) {
        free();
        throw error;
      }
      return { onUsage: ({ total_tokens }) => quota.add(owner.tenantId, total_tokens), onEnd: free };
    },
  };
}
