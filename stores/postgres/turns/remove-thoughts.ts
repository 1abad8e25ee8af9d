import { NIL } from "uuid";
import { BEGINS_AS_THOUGHT, MAY_HAVE_THOUGHTS } from "../../../text/split-thoughts.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { partnerIdSql } from "../conversations/exchanges.ts";
import { saidBy, summaryWithoutThought } from "../conversations/said-by.ts";

export interface RemovedThoughts {
  answers: number;
  summaries: number;
}

const PAGE = 500;
const SUMMARIES = 200;

/** Answers after $1. One that can still be resent from the middle keeps its length: such a turn is a day old at most. */
const FIND_ANSWERS = `
with page as materialized (
  select id from messages where id > $1 order by id limit ${PAGE}
), through as materialized (
  select id from page order by id desc limit 1
)
select (select id from through) as through, (
  select coalesce(json_agg(json_build_object('id', said.id, 'content', content)), '[]') from messages said
  where said.id > $1 and said.id <= (select id from through) and role = 'assistant' and content ~* $2 and not exists (
    select from turns where question_id = ${partnerIdSql("said")} and answer_id = said.id and outcome ?| array['continues_at', 'said_before'])
) as found`;

/** Skips one that is being erased or continued, so nobody waits. */
const WRITE_ANSWERS = `
update messages set content = free.content, token_count = free."tokenCount"
from (
  select messages.id, given.content, given."tokenCount"
  from json_to_recordset($1::json) as given (id uuid, before text, content text, "tokenCount" integer)
  join messages on messages.id = given.id and messages.content = given.before
  for no key update of messages skip locked
) free
where messages.id = free.id
returning messages.id`;

interface AnswerPage {
  through: string | null;
  found: { id: string; content: string }[];
}

async function cleanAnswers(database: Queryable, signal: AbortSignal): Promise<number> {
  let changed = 0;
  let after: string = NIL;
  for (;;) {
    signal.throwIfAborted();
    const values = [after, MAY_HAVE_THOUGHTS.source];
    const { through, found } = await queryRow<AnswerPage>(database, { text: FIND_ANSWERS, values });
    if (through === null) return changed;
    const cleaned = found.flatMap(({ id, content: before }) => {
      const content = saidBy("assistant", before);
      return content === before || content.trim() === "" ? [] : [{ id, before, content, tokenCount: estimateTokens(content) }];
    });
    if (cleaned.length > 0) changed += (await database.query({ text: WRITE_ANSWERS, values: [JSON.stringify(cleaned)] })).length;
    after = through;
  }
}

/** Present summaries and kept versions: a change of the branch brings one back. */
const TABLES = ["conversation_summaries", "conversation_summary_versions"] as const;

const findSummaries = (table: (typeof TABLES)[number]): string => `
select conversation_id as id, summary_version as version, summary as before from ${table}
where (conversation_id, summary_version) > ($1::uuid, $2::integer) and summary ~* $3
order by conversation_id, summary_version limit ${SUMMARIES}`;

const writeSummaries = (table: (typeof TABLES)[number]): string => `
update ${table} set summary = free.summary, token_count = free."tokenCount"
from (
  select conversation_id, summary_version, given.summary, given."tokenCount"
  from json_to_recordset($1::json) as given (id uuid, version integer, before text, summary text, "tokenCount" integer)
  join ${table} kept on conversation_id = given.id and summary_version = given.version and kept.summary = given.before
  for no key update of kept skip locked
) free
where ${table}.conversation_id = free.conversation_id and ${table}.summary_version = free.summary_version
returning free.conversation_id`;

async function cleanSummaries(database: Queryable, table: (typeof TABLES)[number], signal: AbortSignal): Promise<number> {
  let changed = 0;
  let after = { id: NIL as string, version: 0 };
  for (;;) {
    signal.throwIfAborted();
    const values = [after.id, after.version, BEGINS_AS_THOUGHT.source];
    const found = await database.query<{ id: string; version: number; before: string }>({ text: findSummaries(table), values });
    const last = found.at(-1);
    if (!last) return changed;
    const cleaned = found.flatMap((row) => {
      const summary = summaryWithoutThought(row.before);
      return summary === row.before ? [] : [{ ...row, summary, tokenCount: estimateTokens(summary) }];
    });
    if (cleaned.length > 0) changed += (await database.query({ text: writeSummaries(table), values: [JSON.stringify(cleaned)] })).length;
    after = last;
  }
}

/**
 * Removes thoughts from all stored answers, and from summaries that begin with one. Times, versions and cover points stay, and so does a
 * text that is only a thought. It can be interrupted and called again.
 */
export async function removeThoughts(database: Queryable, signal: AbortSignal): Promise<RemovedThoughts> {
  const answers = await cleanAnswers(database, signal);
  const [summaries = 0] = await Promise.all(TABLES.map((table) => cleanSummaries(database, table, signal)));
  return { answers, summaries };
}
