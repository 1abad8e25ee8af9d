import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { Usage } from "../../turn/state.ts";
import type { Owner } from "../../stores/owner.ts";
import type { Slots } from "./slots.ts";
import type { TokenQuota } from "./token-quota.ts";

/** What every new turn passes, whichever protocol asks for it. */
export interface TurnLimits {
  /**
   * Starts a turn when its user and tenant may have one more, and keeps its slot until it has ended, however it ends. `start` must hand
   * `onUsage` to the turn. Throws AppError `too_many_turns` or `token_quota_exceeded`: then nothing was started.
   */
  begin(owner: Owner, start: (onUsage: (usage: Usage) => void) => RunningTurn): Promise<RunningTurn>;
}

/** A model that failed before its first token has used nothing, as far as anybody knows. */
function tokensOf(usage: Usage, last: LastEvent): number {
  const isUnanswered =
    usage.estimated && usage.completion_tokens === 0 && last.status === "error" && last.content.code.startsWith("model_");
  return isUnanswered ? 0 : usage.total_tokens;
}

export function makeTurnLimits({ slots, quota }: { slots: Slots; quota: TokenQuota }): TurnLimits {
  return {
    async begin(owner, start) {
      const free = slots.take(owner);
      try {
        await quota.assertLeft(owner.tenantId);
        let used: Usage | null = null;
        const turn = start((usage) => (used = usage));
        void turn.ended.then((last) => {
          free();
          if (used) quota.add(owner.tenantId, tokensOf(used, last));
        });
        return turn;
      } catch (error) {
        free();
        throw error;
      }
    },
  };
}

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
