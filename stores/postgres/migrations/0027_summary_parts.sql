-- Compatible from 0009.
-- What a summary says, in eight parts: turn/summary-parts.ts. Null: it has none.
alter table conversation_summaries add column parts jsonb;
alter table conversation_summary_versions add column parts jsonb;

-- What servers have counted of a model's prompts: CountedPrompts of models/facts/token-counts.ts.
alter table model_measures add column counted jsonb;
