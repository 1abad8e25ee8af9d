import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import { estimateTokens } from "../../../text/tokens.ts";
import type { Exchange } from "./generate-dialogues.ts";

/** Conversations of one size, of users `USER-0`, `USER-1`, … with the session `bench`. */
export interface ConversationsToLoad {
  user: string;
  /** They all belong to `USER-0`, with the sessions `bench-0`, `bench-1`, …, of which the first is the newest. */
  ofOneUser?: boolean;
  count: number;
  messages: number;
  /** The messages that the summary leaves to the window; null: no summary. */
  uncovered: number | null;
}

/** SQL: the minutes after a conversation's last message. One user has one after another. */
const LATER = "case when $4 then (position - 1) * $3::int else 0 end";

/** Messages are a minute apart, the last one a minute ago. Their texts repeat the sample, from conversation to conversation. */
const INSERT_CONVERSATIONS = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
select id::uuid, 'default', $2 || '-' || case when $4 then 0 else position - 1 end, 'bench' || case when $4 then '-' || (position - 1) else '' end,
  $3::int, now() - (1 + ${LATER}) * interval '1 minute', now() - ($3::int + ${LATER}) * interval '1 minute', now()
from unnest($1::text[]) with ordinality as given (id, position)`;

const INSERT_MESSAGES = `
with told as materialized (
  select id::uuid as conversation_id, position, turn, gen_random_uuid() as turn_id, gen_random_uuid() as question_id
  from unnest($1::text[]) with ordinality as given (id, position), generate_series(1, $3::int / 2) turn
), said as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at)
  select case number % 2 when 1 then question_id else gen_random_uuid() end, conversation_id, case number % 2 when 1 then 'user' else 'assistant' end,
    ($2::text[])[place], true, ($5::int[])[place], jsonb_build_object('turn_id', turn_id), now() - ($3::int + 1 - number + ${LATER}) * interval '1 minute'
  from told join generate_series(1, $3::int) number on turn = (number + 1) / 2,
    lateral (select (((position - 1) * $3::int + number - 1) % cardinality($2::text[]) + 1)::int as place) chosen
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, started_at, ended_at)
select told.turn_id, tenant_id, user_id, conversation_id, question_id, now(), now() from told join conversations on conversations.id = conversation_id`;

const INSERT_SUMMARIES = `
insert into conversation_summaries (conversation_id, summary, summary_version, covered_through_created_at, covered_through_message_id,
  covered_message_count, token_count, created_at, updated_at)
select conversation_id, $2, greatest(1, ($4::int - $5::int) / 6), created_at, id, $4 - $5, $3::int, now(), now()
from (select messages.*, row_number() over (partition by conversation_id order by created_at, id) as number
  from messages where conversation_id = any($1::uuid[])) numbered
where number = $4 - $5`;

/** The memory agent has read them. */
const INSERT_CURSORS = `
insert into memory_cursors (conversation_id, read_through_created_at, read_through_message_id)
select distinct on (conversation_id) conversation_id, created_at, id from messages where conversation_id = any($1::uuid[])
order by conversation_id, created_at desc, id desc`;

const SUMMARY_TOKENS = 400;

function summaryOf(texts: string[]): string {
  const lines: string[] = [];
  for (const text of texts) if (estimateTokens(`${lines.join("\n")}\n${text}`) <= SUMMARY_TOKENS) lines.push(text);
  return lines.join("\n");
}

/** Writes conversations straight into the tables, and runs `vacuum analyze`. */
export async function loadConversations(databaseUrl: string, sample: Exchange[], all: ConversationsToLoad[]): Promise<void> {
  const texts = sample.flatMap(({ user, assistant }) => [user, assistant]);
  const tokens = texts.map(estimateTokens);
  const summary = summaryOf(texts);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const { user, ofOneUser = false, count, messages, uncovered } of all) {
      const ids = Array.from({ length: count }, () => uuidv7());
      await client.query(INSERT_CONVERSATIONS, [ids, user, messages, ofOneUser]);
      await client.query(INSERT_MESSAGES, [ids, texts, messages, ofOneUser, tokens]);
      await client.query(INSERT_CURSORS, [ids]);
      if (uncovered !== null) await client.query(INSERT_SUMMARIES, [ids, summary, estimateTokens(summary), messages, uncovered]);
    }
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
