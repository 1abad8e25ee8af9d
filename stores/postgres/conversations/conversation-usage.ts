import type { PromptTokens } from "../../../turn/state.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { type Database, queryRow } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";

/**
 * SQL: a common table expression `used` of the tokens in a turn's outcome. It is empty when the model was not asked, failed before it said
 * anything, or this outcome is stored already. The ratio tells the last of an agent's prompts. Both arguments are places of values.
 */
export const usedSql = (outcome: string, turnId: string): string => `
used as (
  select (usage->>'prompt_tokens')::bigint as prompt, (usage->>'completion_tokens')::bigint as completion,
    coalesce((usage->>'cached_tokens')::bigint, 0) as cached, (cost->>'input_usd')::float8 as input, (cost->>'output_usd')::float8 as output,
    case when usage->>'context_limit' is not null
      then jsonb_build_object('tokens', round((usage->>'usage_ratio')::numeric * (usage->>'context_limit')::numeric), 'limit', usage->'context_limit', 'parts', parts) end as last_prompt
  from (select ${outcome}::jsonb->'usage' as usage, ${outcome}::jsonb->'cost' as cost, ${outcome}::jsonb->'receipt'->'prompt_tokens' as parts) told
  where usage->>'prompt_tokens' is not null and not ((usage->>'estimated')::boolean and usage->>'completion_tokens' = '0')
    and not exists (select from turns where id = ${turnId} and ended_at is not null)
)`;

/** SQL: the columns to set in a conversation joined with `used`. */
export const ADD_USED = `
        prompt_tokens = conversations.prompt_tokens + coalesce(used.prompt, 0),
        completion_tokens = conversations.completion_tokens + coalesce(used.completion, 0),
        cached_tokens = conversations.cached_tokens + coalesce(used.cached, 0),
        input_usd = coalesce(conversations.input_usd + used.input, conversations.input_usd, used.input),
        output_usd = coalesce(conversations.output_usd + used.output, conversations.output_usd, used.output),
        unpriced_turns = conversations.unpriced_turns + case when used.prompt is not null and used.input is null then 1 else 0 end,
        last_prompt = coalesce(used.last_prompt, conversations.last_prompt)`;

export interface ConversationUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  /** Null: no turn had a price. */
  inputUsd: number | null;
  outputUsd: number | null;
  unpricedTurns: number;
  /** Null before the first one. `parts` are estimated. */
  lastPrompt: { tokens: number; limit: number; parts: PromptTokens | null } | null;
}

const READ = `
select prompt_tokens::float8 as "promptTokens", completion_tokens::float8 as "completionTokens", cached_tokens::float8 as "cachedTokens",
  input_usd as "inputUsd", output_usd as "outputUsd", unpriced_turns as "unpricedTurns", last_prompt as "lastPrompt"
from conversations where id = $1 and tenant_id = $2 and user_id = $3`;

export function readConversationUsage(database: Database, conversation: OwnedConversation): Promise<ConversationUsage> {
  return queryRow<ConversationUsage>(database, { name: "conversation-usage", text: READ, values: ownedValues(conversation) });
}
