-- Compatible from 0009.
-- Sign-ins of users at MCP servers. `sealed`: the client and the tokens, encrypted with SECRETS_KEY.
create table mcp_grants (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  server text collate "C" not null,
  sealed text not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, user_id, server)
);
