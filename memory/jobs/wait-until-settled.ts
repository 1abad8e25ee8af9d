import { setTimeout as sleep } from "node:timers/promises";
import type { JobOverview } from "../../stores/jobs/job-overview.ts";
import type { OwnedConversation } from "../../stores/owner.ts";

/** Pauses between two looks, in milliseconds: from the first, growing by half, to the longest. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

export interface WaitUntilSettled {
  overview: Pick<JobOverview, "pending">;
  conversation: OwnedConversation;
  timeoutMs: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/** Waits until no job of a conversation, or of its user's memory agent, waits or runs, in whichever process; then 0, else how many are left after `timeoutMs`. */
export async function waitUntilSettled({ overview, conversation, timeoutMs, signal }: WaitUntilSettled): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const pending = await overview.pending(conversation);
    const left = deadline - performance.now();
    if (pending === 0 || left <= 0 || signal?.aborted) return pending;
    await sleep(Math.min(pause, left), undefined, { ...(signal ? { signal } : {}) }).catch(() => undefined);
  }
}
