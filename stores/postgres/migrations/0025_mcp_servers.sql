-- Compatible from 0009.
-- MCP servers of tenants. `sealed`: the address and the headers, encrypted with SECRETS_KEY.
create table mcp_servers (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  sealed text not null,
  version bigint not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, name)
);
