import { NIL } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { type JobTransaction, makeJobQueue } from "../../jobs/job-queue.ts";
import type { Database, Queryable } from "../database/database.ts";
import { withStatementTimeout } from "../database/database-decorators.ts";
import { isRefusedRow } from "../database/storage-errors.ts";
import { readColumns, readSchemaVersion, rowSchema } from "./exported-tables.ts";
import { readLines, type RowLine } from "./read-lines.ts";
import type { Job } from "../../jobs/job.ts";
import type { OwnedDocument } from "../knowledge/chunk-store.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { MAX_BRANCHES } from "../paths/branch-path.ts";

/** Branches whose path has no beginning or too many branches, and what belongs to no branch of its conversation. */
const FIND_WRONG = `
select 'branch' as what, id from branches cross join lateral (select branch_path(conversation_id, id) as path) own
where (select count(*) from jsonb_object_keys(path)) > ${MAX_BRANCHES}
  or not exists (select from branches step where path ? step.id::text and step.fork_message_id is null)
    and not exists (select from forks where forks.conversation_id = branches.conversation_id)
union all
select 'message', id from messages where branch_id is not null
  and not exists (select from branches where branches.id = branch_id and branches.conversation_id = messages.conversation_id)
union all
select 'conversation', id from conversations where active_branch_id is not null
  and not exists (select from branches where branches.id = active_branch_id and branches.conversation_id = conversations.id)
limit 1`;

/** A fork that shares messages of another user, or of nobody. */
const FIND_FOREIGN = `
select 'fork' as what, fork.id from forks join conversations fork on fork.id = forks.conversation_id cross join lateral jsonb_each(base_path) step
left join conversations source on source.id::text = step.value->>2 and (source.tenant_id, source.user_id) = (fork.tenant_id, fork.user_id)
where source.id is null
union all
select 'turn', turns.id from turns join messages asked on asked.id = question_id join conversations source on source.id = asked.conversation_id
where (source.tenant_id, source.user_id) <> (turns.tenant_id, turns.user_id)
limit 1`;

const SET_SOURCES = `
update forks set source_ids = array(select distinct (step.value->>2)::uuid from jsonb_each(base_path) step)`;

const SET_PATHS = `
update conversations set path = branch_path(id, coalesce(active_branch_id, id)), remembered_path = branch_path(id, coalesce(active_branch_id, id))
where exists (select from branches where branches.conversation_id = conversations.id)`;

/** Makes the paths of restored conversations. Throws AppError `invalid_request` when branches go in a circle, something belongs to none, or rests on another user's. */
async function restorePaths(transaction: Queryable): Promise<void> {
  const [foreign] = await transaction.query<{ what: string; id: string }>({ text: FIND_FOREIGN });
  if (foreign)
    throw new AppError(
      "invalid_request",
      `The ${foreign.what} ${foreign.id} rests on messages that are not its user's. Nothing was restored.`,
    );
  await transaction.query({ text: SET_SOURCES });
  const [wrong] = await transaction.query<{ what: string; id: string }>({ text: FIND_WRONG });
  if (wrong) {
    const problem = `The ${wrong.what} ${wrong.id} has no way to the beginning of its conversation, or more than ${MAX_BRANCHES} branches on it.`;
    throw new AppError("invalid_request", `${problem} Nothing was restored.`);
  }
  await transaction.query({ text: SET_PATHS });
}

interface RestoreParts {
  /** Migrated, and empty. */
  database: Database;
  file: string;
  onChecked?: (bytes: number, total: number) => void;
  onStored?: (rows: number, total: number) => void;
}

const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

async function assertEmpty(database: Database, transaction: Queryable, tables: readonly string[]): Promise<void> {
  const exists = tables.map((name) => `select '${name}' as name where exists (select from ${name})`).join(" union all ");
  const filled = await transaction.query<{ name: string }>({ text: exists });
  if (filled.length === 0) return;
  throw new AppError(
    "invalid_request",
    `${database.description} is not empty: it has rows in ${filled.map(({ name }) => name).join(", ")}. Nothing was restored.` +
      " Restore into a new database: another DATABASE_URL, or another DATA_DIR.",
  );
}

async function storeRows(transaction: Queryable, lines: readonly RowLine[]): Promise<void> {
  const [first] = lines;
  if (!first) return;
  const names = first.columns.map((name) => `"${name}"`).join(", ");
  const text = `
insert into ${first.kind} (${names})
select ${names} from json_array_elements($1::json) as lines (line) cross join lateral json_populate_record(null::${first.kind}, line->'row')`;
  try {
    await transaction.query({ text, values: [`[${lines.map((line) => line.text).join(",")}]`] });
  } catch (cause) {
    if (!isRefusedRow(cause)) throw cause;
    const last = lines.at(-1) ?? first;
    const problem = `One of the lines ${first.number} to ${last.number} (${first.kind}) does not go with the others, or has a value that is not allowed.`;
    throw new AppError("invalid_request", `${problem} Nothing was restored.`, { cause });
  }
}

async function* toBatches(lines: AsyncIterable<RowLine>): AsyncGenerator<RowLine[]> {
  let batch: RowLine[] = [];
  let characters = 0;
  let like = "";
  for await (const line of lines) {
    const shape = JSON.stringify([line.kind, line.columns]);
    if (shape !== like || batch.length >= BATCH || characters > BATCH_CHARACTERS) {
      if (batch.length > 0) yield batch;
      batch = [];
      characters = 0;
      like = shape;
    }
    batch.push(line);
    characters += line.text.length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Restores an export into an empty database, all or nothing, and adds the jobs for derived data; returns the number of rows by table.
 * Throws AppError `invalid_request` when the file was changed or is newer, or the database is not empty.
 */
export async function restoreExport({ database, file, onChecked, onStored }: RestoreParts): Promise<ReadonlyMap<string, number>> {
  const patient = withStatementTimeout(database);
  const tables = await readColumns(patient);
  const names = tables.map(({ table }) => table.name);
  const rows = new Map(tables.map((table) => [table.table.name, rowSchema(table)]));
  const schema = await readSchemaVersion(patient);
  await assertEmpty(database, patient, names);
  const checked = readLines({ file, rows, schema, ...(onChecked ? { onBytes: onChecked } : {}) });
  let total = 0;
  while (!(await checked.next()).done) total++;

  return makeJobQueue(patient).transaction(async (transaction, jobs) => {
    await transaction.query({ text: "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0" });
    await transaction.query({ text: `lock table ${names.join(", ")} in share row exclusive mode` });
    await assertEmpty(database, transaction, names);
    const stored = new Map<string, number>();
    let done = 0;
    for await (const batch of toBatches(readLines({ file, rows, schema }))) {
      await storeRows(transaction, batch);
      const { kind } = batch[0] as RowLine;
      stored.set(kind, (stored.get(kind) ?? 0) + batch.length);
      onStored?.((done += batch.length), total);
    }
    await restorePaths(transaction);
    await addJobsOfRestored(transaction, jobs);
    return stored;
  });
}

const PAGE = 500;

const CONVERSATIONS = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $1 order by id limit ${PAGE}`;

const OWNERS = `
select distinct tenant_id as "tenantId", user_id as "userId" from conversations
where (tenant_id, user_id) > ($1, $2) order by 1, 2 limit ${PAGE}`;

const DOCUMENTS = `
select id as "documentId", tenant_id as "tenantId" from knowledge_documents
where id > $1 and status <> 'failed' order by id limit ${PAGE}`;

/** Adds every job that a restored store may need; one without work ends at once. */
async function addJobsOfRestored(transaction: Queryable, jobs: JobTransaction): Promise<void> {
  async function addFor<Row>(text: string, first: string[], keyOf: (row: Row) => string[], toJobs: (row: Row) => Job[]): Promise<void> {
    for (let after: string[] | undefined = first; after !== undefined;) {
      const rows: Row[] = await transaction.query<Row>({ text, values: after });
      await jobs.add(rows.flatMap(toJobs));
      const last = rows.at(-1);
      after = last && keyOf(last);
    }
  }
  const ofConversation = (conversation: OwnedConversation): Job[] => [
    { kind: "index_episodes", ...conversation },
    { kind: "summarise", ...conversation },
  ];
  await addFor(CONVERSATIONS, [NIL], ({ conversationId }) => [conversationId], ofConversation);
  const ofOwner = (owner: Owner): Job[] => [{ kind: "remember", ...owner }];
  await addFor(OWNERS, ["", ""], ({ tenantId, userId }) => [tenantId, userId], ofOwner);
  const ofDocument = (document: OwnedDocument): Job[] => [{ kind: "ingest", ...document }];
  await addFor(DOCUMENTS, [NIL], ({ documentId }) => [documentId], ofDocument);
}
