import { NIL } from "uuid";
import type { Job } from "../../jobs/job.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../owner.ts";
import type { Queryable } from "../database.ts";

/** Rows that are read, and jobs that are added, at a time. */
const PAGE = 500;

const CONVERSATIONS = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $1 order by id limit ${PAGE}`;

/** Behind $1 and $2. */
const OWNERS = `
select distinct tenant_id as "tenantId", user_id as "userId" from conversations
where (tenant_id, user_id) > ($1, $2) order by 1, 2 limit ${PAGE}`;

/** Documents that were read have to be indexed again, whether they answer already or not. */
const DOCUMENTS = `
select id as "documentId", tenant_id as "tenantId" from knowledge_documents
where id > $1 and status <> 'failed' order by id limit ${PAGE}`;

/**
 * Adds the jobs of everything that may be left to do in a store that was just filled: there is no index, and the memory agent or a summary may
 * have been behind. A job that finds nothing to do ends at once.
 */
export async function addJobsOfRestored(transaction: Queryable, jobs: JobTransaction): Promise<void> {
  async function addFor<Row>(text: string, first: string[], keyOf: (row: Row) => string[], jobsOf: (row: Row) => Job[]): Promise<void> {
    for (let after: string[] | undefined = first; after !== undefined;) {
      const rows: Row[] = await transaction.query<Row>({ text, values: after });
      await jobs.add(rows.flatMap(jobsOf));
      const last = rows.at(-1);
      after = last && keyOf(last);
    }
  }
  await addFor<Owner & { conversationId: string }>(
    CONVERSATIONS,
    [NIL],
    ({ conversationId }) => [conversationId],
    (conversation) => [
      { kind: "index_episodes", ...conversation },
      { kind: "summarise", ...conversation },
    ],
  );
  await addFor<Owner>(
    OWNERS,
    ["", ""],
    ({ tenantId, userId }) => [tenantId, userId],
    (owner) => [{ kind: "remember", ...owner }],
  );
  await addFor<{ documentId: string; tenantId: string }>(
    DOCUMENTS,
    [NIL],
    ({ documentId }) => [documentId],
    (document) => [{ kind: "ingest", ...document }],
  );
}
