-- Compatible from 0009.
-- What calls of models took, by tenant, user, day of UTC, model and purpose. Those of erased users are kept together under ''.
create table model_usage (
  tenant_id text collate "C" not null,
  day date not null,
  user_id text collate "C" not null,
  model text collate "C" not null,
  purpose text collate "C" not null,
  calls bigint not null,
  -- Calls whose tokens are estimated, and those whose price nobody knows.
  estimated_calls bigint not null,
  unpriced_calls bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  input_usd double precision not null,
  output_usd double precision not null,
  primary key (tenant_id, day, user_id, model, purpose)
);
create index model_usage_of_user on model_usage (tenant_id, user_id);
