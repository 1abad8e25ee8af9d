-- One attempt to answer a user's message, with what came of it. The text of the answer is in messages only. A row goes with its question, and
-- so with the exchange, the conversation or the user; its conversation needs no reference of its own.
create table turns (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  conversation_id uuid not null,
  question_id uuid not null references messages on delete cascade,
  -- Set with the answer, which can be cut short.
  answer_id uuid,
  -- Of the Idempotency-Key and of the request that came with it. The newest attempt has them.
  key_hash text collate "C",
  body_hash text collate "C",
  -- The last event without the text of the answer; null while the turn runs, and when its process died.
  outcome jsonb,
  -- Somebody asked to stop it: for the process that runs it, when it has missed the notification.
  cancel_requested boolean not null default false,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  -- When outcome and key were forgotten.
  emptied_at timestamptz(3)
);

create unique index turns_by_key on turns (tenant_id, user_id, key_hash) where key_hash is not null;
create index turns_by_question on turns (question_id);
create index turns_to_empty on turns (started_at) where emptied_at is null;
