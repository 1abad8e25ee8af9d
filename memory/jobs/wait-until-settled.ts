import { setTimeout as sleep } from "node:timers/promises";
import type { JobOverview } from "../../stores/jobs/job-overview.ts";
import type { OwnedConversation } from "../../turn/owner.ts";

/** In milliseconds. Each pause is half as long again as the one before. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

export interface WaitUntilSettled {
  overview: Pick<JobOverview, "hasten">;
  conversation: OwnedConversation;
  timeoutMs: number;
  signal?: AbortSignal;
}

/**
 * Starts the jobs of a conversation and its user's memory agent, and waits until none is left in any process. Returns how many are left
 * after `timeoutMs`.
 */
export async function waitUntilSettled({ overview, conversation, timeoutMs, signal }: WaitUntilSettled): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const pending = await overview.hasten(conversation);
    const left = deadline - performance.now();
    if (pending === 0 || left <= 0 || signal?.aborted) return pending;
    await sleep(Math.min(pause, left), undefined, { ...(signal ? { signal } : {}) }).catch(() => undefined);
  }
}
