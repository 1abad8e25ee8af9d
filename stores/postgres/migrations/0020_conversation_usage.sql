-- Compatible from 0009.
-- What the turns of a conversation have used, since there are these columns. Dollars are null while no turn had a price; unpriced_turns is the
-- number of those without one.
alter table conversations
  add column prompt_tokens bigint not null default 0,
  add column completion_tokens bigint not null default 0,
  add column cached_tokens bigint not null default 0,
  add column input_usd double precision,
  add column output_usd double precision,
  add column unpriced_turns integer not null default 0,
  -- {"tokens", "limit", "parts"} of the last prompt.
  add column last_prompt jsonb;
