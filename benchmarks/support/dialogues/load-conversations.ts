import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import { estimateTokens } from "../../../text/tokens.ts";
import type { Exchange } from "./generate-dialogues.ts";

/** Conversations of one size, of users `USER-0`, `USER-1`, … with the session `bench`. */
export interface ConversationsToLoad {
  user: string;
  count: number;
  messages: number;
  /** The messages that the summary leaves to the window; null: no summary. */
  uncovered: number | null;
}

/** Messages are a minute apart, the last one a minute ago. Their texts repeat the sample. */
const INSERT_CONVERSATIONS = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
select id::uuid, 'default', $2 || '-' || (position - 1), 'bench', $3::int, now() - interval '1 minute', now() - $3::int * interval '1 minute', now()
from unnest($1::text[]) with ordinality as given (id, position)`;

const INSERT_MESSAGES = `
with told as materialized (
  select id::uuid as conversation_id, turn, gen_random_uuid() as turn_id, gen_random_uuid() as question_id
  from unnest($1::text[]) id, generate_series(1, $4::int / 2) turn
), said as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at)
  select case number % 2 when 1 then question_id else gen_random_uuid() end, conversation_id, case number % 2 when 1 then 'user' else 'assistant' end,
    ($2::text[])[(number - 1) % cardinality($2::text[]) + 1], true, ($3::int[])[(number - 1) % cardinality($3::int[]) + 1],
    jsonb_build_object('turn_id', turn_id), now() - ($4::int + 1 - number) * interval '1 minute'
  from told join generate_series(1, $4::int) number on turn = (number + 1) / 2
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
    for (const { user, count, messages, uncovered } of all) {
      const ids = Array.from({ length: count }, () => uuidv7());
      await client.query(INSERT_CONVERSATIONS, [ids, user, messages]);
      await client.query(INSERT_MESSAGES, [ids, texts, tokens, messages]);
      if (uncovered !== null) await client.query(INSERT_SUMMARIES, [ids, summary, estimateTokens(summary), messages, uncovered]);
    }
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
