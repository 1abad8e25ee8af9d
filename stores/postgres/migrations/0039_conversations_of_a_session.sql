-- Compatible from 0009.
-- A session without its user: a thread whose id its client has chosen, looked up by a key of the tenant.
create index conversations_of_session on conversations (tenant_id, session_id);
