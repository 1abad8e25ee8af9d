-- Compatible from 0039.
-- What a running turn of an agent needs to go on in another process, besides its steps; written with its steps. A turn that waits has it
-- with its question. Null: a plain turn, and one that is over.
alter table turns add column resume jsonb;
-- How often a process has begun the turn, waiting for people not counted.
alter table turns add column attempts integer not null default 1;
create index turns_to_go_on on turns (id) where resume is not null;
-- The process that goes on with the turn that holds the conversation, so that no earlier one writes. Null: the turn's first process.
alter table conversations add column turn_runner uuid;
