-- Tokens that the turns of a tenant used on a day of UTC; written only while there is a limit. Holds nothing of a user.
create table token_usage (
  tenant_id text collate "C" not null,
  day date not null,
  tokens bigint not null check (tokens >= 0),
  primary key (tenant_id, day)
);
