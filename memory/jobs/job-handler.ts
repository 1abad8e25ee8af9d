import type { Job } from "../../stores/jobs/job.ts";
import type { Queryable } from "../../stores/postgres/database/database.ts";

/** What is left of a job's work: nothing, more steps, or nothing because what it was about has been erased. */
export type Remaining = "nothing" | "more" | "erased";

/** How jobs of one kind are done. */
export interface JobHandler<Kind extends Job = Job> {
  /** Does one bounded step and has saved it when it resolves. Throws when it has to be tried again. */
  step(job: Kind, signal: AbortSignal): Promise<void>;
  /**
   * What is left to do after a step that did its work, or failed; asked in the transaction that ends the job. Locks whatever the
   * transactions lock that add jobs of this kind: then work that comes in meanwhile either is seen here or finds the job gone and adds a
   * new one.
   */
  remaining(transaction: Queryable, job: Kind, stepFailed: boolean): Promise<Remaining>;
}
