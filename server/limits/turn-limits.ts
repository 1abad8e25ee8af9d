import type { Owner } from "../../stores/owner.ts";
import type { Slots } from "./slots.ts";
import type { TokenQuota } from "./token-quota.ts";

/** What a turn, or a front end's own task, has while it runs. */
export interface Permit {
  /** Counts what it has used for the day of its tenant. */
  addTokens(tokens: number): void;
  /** Gives its slot back, however it ended; once. */
  release(): void;
}

/** Lets a turn or a task begin when its user and tenant may have one more. Throws AppError `too_many_turns`, `overloaded` or `token_quota_exceeded`. */
export type Admit = (owner: Owner) => Promise<Permit>;

export function makeAdmit({ slots, quota }: { slots: Slots; quota: Pick<TokenQuota, "assertLeft" | "add"> }): Admit {
  return async function admit(owner) {
    const release = slots.take(owner);
    try {
      await quota.assertLeft(owner.tenantId);
    } catch (error) {
      release();
      throw error;
    }
    return { addTokens: (tokens) => quota.add(owner.tenantId, tokens), release };
  };
}
