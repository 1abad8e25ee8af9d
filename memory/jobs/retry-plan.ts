import type { RetryPlan } from "../../stores/jobs/job-queue.ts";

const MINUTE_SECONDS = 60;
/** Until this age of a job the queue's own delays hold: twice as long each time, to 10 seconds. */
const EARLY_SECONDS = 10 * MINUTE_SECONDS;
/** A job of this age gets its last try: https://en.wikipedia.org/wiki/Dead_letter_queue */
const LIFE_SECONDS = 24 * 60 * MINUTE_SECONDS;
/** The longest delay, at the end of a job's day. */
const LONGEST_SECONDS = 10 * MINUTE_SECONDS;

/** When a job of this age, in seconds, is tried again: soon in its first ten minutes, then ever more rarely, and after a day no more. */
export function planRetry(ageSeconds: number): RetryPlan {
  if (ageSeconds < EARLY_SECONDS) return {};
  // A fortieth of its age: 15 seconds after ten minutes, 10 minutes after seven hours.
  const retryAfterSeconds = Math.min(LONGEST_SECONDS, Math.round(ageSeconds / 40));
  return { retryAfterSeconds, isLast: ageSeconds + retryAfterSeconds >= LIFE_SECONDS };
}
