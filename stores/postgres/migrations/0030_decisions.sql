-- Compatible from 0009.
-- Who allowed or answered what, and when: one row for each answered question, and one for each call that a rule allowed or refused.
-- No row of a conversation is referenced: a decision may have to be kept when everything else is erased.
create table decisions (
  -- Of the question, where there was one.
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  -- Null in what is kept after an erase, and so is the question, and what answers it in words.
  conversation_id uuid,
  turn_id uuid,
  -- Of the step: the call, or the question.
  seq integer,
  type text collate "C" not null,
  agent text collate "C" not null,
  question text,
  tool text collate "C",
  -- Of the call: an object, or the text that the model sent.
  arguments jsonb,
  answer jsonb,
  answer_text text,
  decided_by text collate "C" not null check (decided_by in ('person', 'timeout', 'rule')),
  created_at timestamptz(3) not null,
  -- When all that it belonged to was erased, and it had to be kept.
  erased_at timestamptz(3),
  unique (turn_id, seq)
);

create index decisions_of_user on decisions (tenant_id, user_id, created_at, id);
create index decisions_of_conversation on decisions (conversation_id);
create index decisions_kept on decisions (created_at) where erased_at is not null;

insert into decisions (id, tenant_id, user_id, conversation_id, turn_id, seq, type, agent, question, tool, arguments, answer, answer_text, decided_by, created_at)
select questions.id, tenant_id, user_id, conversations.id, questions.turn_id, seq, type, agent, content->>'question', content#>>'{tool,name}', content#>'{tool,arguments}',
  answer, answer_text, answered_by, answered_at
from questions join conversations on conversations.id = questions.conversation_id
where answered_by in ('person', 'timeout') and type <> 'client_tool' and tenant_id <> '';
