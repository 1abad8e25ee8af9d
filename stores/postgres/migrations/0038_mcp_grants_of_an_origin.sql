-- Compatible from 0009.
-- A grant is sealed for the origin of its server. An older one does not say to which address it belongs: its user signs in again.
delete from mcp_grants;
