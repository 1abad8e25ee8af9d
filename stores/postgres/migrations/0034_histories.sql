-- Compatible from 0009.
-- Whether a client has sent earlier messages with a request: then one without any stands at the beginning.
alter table conversations add column sends_history boolean not null default false;
