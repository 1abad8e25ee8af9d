import { createHash } from "node:crypto";
import { setImmediate as nextRound } from "node:timers/promises";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { withStatementTimeout } from "../database/database-decorators.ts";
import { ERASED_TENANT } from "../conversations/erase-markers.ts";
import {
  EXPORT_FORMAT,
  type ExportedTable,
  type ExportScope,
  FORMAT_VERSION,
  readColumns,
  readSchemaVersion,
  type TableColumns,
} from "./exported-tables.ts";

/** 1 with files, up to 20 MiB each. */
const PAGE = 500;

const SETTINGS = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
set local time zone 'UTC'; set local cursor_tuple_fraction = 1`;

/** Reads one state of the database, however long that takes. Others read and write meanwhile, except in an embedded database. */
export function inReadTransaction<Result>(database: Database, work: (transaction: Queryable) => Promise<Result>): Promise<Result> {
  return withStatementTimeout(database).transaction(async (transaction) => {
    await transaction.query({ text: "set transaction isolation level repeatable read, read only" });
    await transaction.query({ text: SETTINGS });
    return work(transaction);
  });
}

/** A cursor takes no parameters. */
const SET_SCOPE = "select set_config('export.tenant', $1, true), set_config('export.user', $2, true)";
const OF_TENANT = "tenant_id = current_setting('export.tenant')";
const OF_USER = `${OF_TENANT} and user_id = current_setting('export.user')`;

async function setScope(transaction: Queryable, { tenantId = "", userId = "" }: ExportScope): Promise<void> {
  await transaction.query({ text: SET_SCOPE, values: [tenantId, userId] });
}

const ERASED_CONVERSATIONS = `(select id from conversations where tenant_id = '${ERASED_TENANT}')`;
const ERASED_DOCUMENTS = `(select id from knowledge_documents where tenant_id = '${ERASED_TENANT}')`;

/** A picture of partly erased messages may belong to them alone. */
const shownIn = (condition: string): string => `id in (select picture_id from message_pictures where ${condition})`;

/** Excludes soft-deleted rows and turns that never began. */
function notErased(table: ExportedTable, columns: TableColumns["columns"]): string {
  if (table.belongs === "by its document") return `document_id not in ${ERASED_DOCUMENTS}`;
  const ofConversation = `conversation_id not in ${ERASED_CONVERSATIONS}`;
  if (table.belongs === "by its messages") return shownIn(ofConversation);
  if (table.belongs === "by its question") return `question_id is not null and ${ofConversation}`;
  if (table.belongs === "by its conversation") return ofConversation;
  return columns.some(({ name }) => name === "tenant_id") ? `tenant_id <> '${ERASED_TENANT}'` : ofConversation;
}

function conditionFor({ table, columns }: TableColumns, { tenantId, userId }: ExportScope): string {
  if (tenantId === undefined) return notErased(table, columns);
  const owner = userId === undefined ? OF_TENANT : OF_USER;
  const conversation = `conversation_id in (select id from conversations where ${owner})`;
  if (table.belongs === "by its messages") return shownIn(conversation);
  if (table.belongs === "by its question") return `question_id in (select id from messages where ${conversation})`;
  if (table.belongs === "by its document") {
    return userId === undefined ? `document_id in (select id from knowledge_documents where ${OF_TENANT})` : "false";
  }
  const has = (name: string): boolean => columns.some((column) => column.name === name);
  if (table.belongs === "by its conversation" || !has("tenant_id")) return conversation;
  return userId === undefined || has("user_id") ? owner : "false"; // a tenant's rows are no user's
}

export async function countRows(transaction: Queryable, scope: ExportScope): Promise<number> {
  await setScope(transaction, scope);
  let total = 0;
  for (const table of await readColumns(transaction)) {
    const text = `select count(*)::int as count from ${table.table.name} where ${conditionFor(table, scope)}`;
    total += (await queryRow<{ count: number }>(transaction, { text })).count;
  }
  return total;
}

/** As JSON, page by page, by primary key. */
async function* readPages(transaction: Queryable, table: TableColumns, scope: ExportScope): AsyncGenerator<string[]> {
  const { columns } = table;
  const key = columns
    .filter(({ keyPosition }) => keyPosition !== null)
    .sort((one, other) => (one.keyPosition ?? 0) - (other.keyPosition ?? 0));
  const names = (list: readonly { name: string }[]): string => list.map(({ name }) => `"${name}"`).join(", ");
  const rows = `select ${names(columns)} from ${table.table.name} where ${conditionFor(table, scope)} order by ${names(key)}`;
  const declare = `declare exported no scroll cursor for select row_to_json(exported)::text as json from (${rows}) exported`;
  await transaction.query({ text: declare });
  const size = columns.some(({ type }) => type === "bytea") ? 1 : PAGE;
  for (let count = size; count === size;) {
    const page = await transaction.query<{ json: string }>({ text: `fetch ${size} from exported` });
    count = page.length;
    if (count > 0) yield page.map(({ json }) => json);
    await nextRound();
  }
  await transaction.query({ text: "close exported" });
}

/**
 * An export in pieces: a header, a line a row, at the end the counts and the SHA-256 of all before. `onRows` gets the number of rows so
 * far.
 */
export async function* exportLines(
  transaction: Queryable,
  scope: ExportScope,
  onRows: (done: number) => void = () => undefined,
): AsyncGenerator<string> {
  const hash = createHash("sha256");
  const counts: Record<string, number> = {};
  const hashed = (lines: readonly string[]): string => {
    const text = lines.map((line) => `${line}\n`).join("");
    hash.update(text);
    return text;
  };
  const schema = await readSchemaVersion(transaction);
  const { tenantId: tenant = null, userId: user = null } = scope;
  const header = { kind: "header", format: EXPORT_FORMAT, version: FORMAT_VERSION, schema, tenant, user, exported_at: new Date() };
  yield hashed([JSON.stringify(header)]);
  await setScope(transaction, scope);
  let done = 0;
  for (const table of await readColumns(transaction)) {
    const { name } = table.table;
    counts[name] = 0;
    for await (const page of readPages(transaction, table, scope)) {
      counts[name] += page.length;
      onRows((done += page.length));
      yield hashed(page.map((json) => `{"kind":"${name}","row":${json}}`));
    }
  }
  yield `${JSON.stringify({ kind: "end", rows: counts, sha256: hash.digest("hex") })}\n`;
}
