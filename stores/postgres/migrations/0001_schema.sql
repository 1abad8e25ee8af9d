-- Stands for 0001 to 0039 of version 0.1.
-- The whole schema, by subject. Ids and names of callers compare byte by byte: collation "C". Times have milliseconds, as a JavaScript Date.

-- pg-boss' own schema, made here under our lock: two processes that start together on an empty database would get in each other's way.
create schema if not exists pgboss;

---------------------------------------- conversations

-- The messages of one (tenant, user, session), a tree. What is shown of it is its path: the active branch from the root to the head.
create table conversations (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  session_id text collate "C" not null,
  message_count integer not null default 0,
  -- The newest message's time. Every insert of a message updates this row first, so that messages of one conversation are written one
  -- after another and their created_at only rises, in steps of at least a millisecond.
  last_message_at timestamptz(3) not null,
  -- The turn that is running, and until when it holds the conversation unless it renews; 'infinity' while it waits for a person.
  turn_id uuid,
  turn_lease_until timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,

  -- How often messages were taken out, or put between others: what was read before is then not what there is.
  rewrites integer not null default 0,
  -- Messages that were ever imported. Whoever has read messages and finds another number has not read them all.
  imported_count integer not null default 0,

  -- Lists show it. Null: the first words of what the user said stand for it.
  title text,
  -- 'person' or 'model'. A title of a person is never overwritten.
  title_by text,
  pinned boolean not null default false,
  archived boolean not null default false,
  -- The caller's.
  metadata jsonb not null default '{}',

  -- What its turns have used. Dollars are null while no turn had a price.
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  cached_tokens bigint not null default 0,
  input_usd double precision,
  output_usd double precision,
  unpriced_turns integer not null default 0,
  -- {"tokens", "limit", "parts"} of the last prompt.
  last_prompt jsonb,

  -- Null: the first branch.
  active_branch_id uuid,
  -- For each branch of the path, the place (created_at, id) of the last message that the path has of it. Null: there are no branches.
  path jsonb,
  -- The path that core memory follows.
  remembered_path jsonb,
  -- Null: nobody knows, or there are no branches.
  path_message_count integer,
  -- A client has sent earlier messages with a request: a request without any then stands at the beginning.
  sends_history boolean not null default false,

  unique (tenant_id, user_id, session_id)
);

create index conversations_by_user on conversations (tenant_id, user_id, created_at, id);
-- A session without its user: a thread whose id its client has chosen, looked up by a key of the tenant.
create index conversations_of_session on conversations (tenant_id, session_id);

create table messages (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  completed boolean not null,
  token_count integer not null,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,

  -- These three are of an imported message. The question that it answers, or the answer that it got; a turn's own are in turns.
  partner_id uuid,
  -- Its number among the imported ones, from 1. Null: it came by a turn, or before messages were numbered.
  import_number integer,
  -- The memory agent has not read it. The agent's cursor does not tell: it goes back when older messages are imported.
  is_unread boolean,

  -- Pictures that it shows, for whoever reads its words alone.
  picture_count smallint not null default 0,
  -- Null: the first branch.
  branch_id uuid
);

create index messages_in_order on messages (conversation_id, created_at, id);
-- Importing the same message again changes nothing.
create unique index messages_by_external_id on messages (conversation_id, (metadata->>'external_id')) where metadata ? 'external_id';

-- What a user thinks of an answer. A row goes with its answer, and so with the exchange, the conversation or the user.
create table message_ratings (
  message_id uuid primary key references messages on delete cascade,
  conversation_id uuid not null,
  value smallint not null check (value in (-1, 1)),
  comment text,
  rated_at timestamptz(3) not null
);

---------------------------------------- pictures

-- Pictures of users, each once by the hash of its bytes, however many messages show it. A picture goes with the last message that does.
create table pictures (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  -- SHA-256, base64url.
  hash text collate "C" not null,
  media_type text collate "C" not null,
  width integer not null,
  height integer not null,
  byte_count integer not null,
  bytes bytea not null,
  created_at timestamptz(3) not null,
  unique (tenant_id, user_id, hash)
);
-- They are compressed already.
alter table pictures alter column bytes set storage external;

-- What a message shows: a picture that is kept, or one at an address, which the service never opens.
create table message_pictures (
  message_id uuid not null references messages on delete cascade,
  position smallint not null,
  conversation_id uuid not null,
  picture_id uuid references pictures,
  url text,
  detail text collate "C" check (detail in ('auto', 'low', 'high')),
  primary key (message_id, position),
  check ((picture_id is null) <> (url is null))
);

create index message_pictures_by_picture on message_pictures (picture_id) where picture_id is not null;

-- Whoever shows the picture meanwhile holds its row, and a new statement sees what was committed until then.
create function forget_picture() returns trigger language plpgsql as $$
begin
  perform from pictures where id = old.picture_id for update;
  delete from pictures where id = old.picture_id and not exists (select from message_pictures where picture_id = old.picture_id);
  return null;
end $$;

create trigger message_picture_gone after delete on message_pictures
for each row when (old.picture_id is not null) execute function forget_picture();

---------------------------------------- branches, snapshots and forks

-- A conversation has no row until it is branched; then its first branch has one, too, whose id is the conversation's.
create table branches (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  -- The branch of the last message that it shares. Null: the first branch.
  parent_id uuid,
  -- That message. Null: it shares none.
  fork_created_at timestamptz(3),
  fork_message_id uuid,
  origin text collate "C" check (origin in ('edit', 'regenerate', 'restore')),
  label text,
  -- The messages of its path, when it was last left. Null: nobody knows.
  message_count integer,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- The earliest message that an import gave it. Null: it has none from before it was made.
  messages_from timestamptz(3)
);

create index branches_of_conversation on branches (conversation_id, created_at, id);

-- Places of a conversation that a person has named, to come back to.
create table snapshots (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  -- The branch of the message; the first one has the conversation's id.
  branch_id uuid not null,
  message_id uuid not null,
  message_created_at timestamptz(3) not null,
  label text not null,
  created_at timestamptz(3) not null
);

create index snapshots_of_conversation on snapshots (conversation_id, created_at, id);

-- Conversations that begin with messages of another one, which they share.
create table forks (
  conversation_id uuid primary key references conversations on delete cascade,
  -- Null: it was erased.
  origin_id uuid,
  message_id uuid not null,
  message_created_at timestamptz(3) not null,
  -- The path of what is shared, as conversations.path; each place has a third field, the conversation of the messages.
  base_path jsonb not null,
  -- Those conversations.
  source_ids uuid[] not null default '{}',
  created_at timestamptz(3) not null
);

create index forks_by_source on forks using gin (source_ids);

-- A path as far as a place. Steps that name no conversation are of the given one.
create function path_through(path jsonb, through_created_at timestamptz, through_id uuid, of_conversation uuid) returns jsonb
language sql immutable set timezone = 'UTC' as $$
  with steps as (
    select step.key as branch, (step.value->>0)::timestamptz as created_at, (step.value->>1)::uuid as id, coalesce(step.value->>2, of_conversation::text) as conversation
    from jsonb_each(path) step
  ), placed as (
    select *, lag(created_at) over (order by created_at, id) as before_created_at, lag(id) over (order by created_at, id) as before_id from steps
  )
  select coalesce(jsonb_object_agg(branch, jsonb_build_array(
    case when (created_at, id) <= (through_created_at, through_id) then created_at else through_created_at end,
    case when (created_at, id) <= (through_created_at, through_id) then id else through_id end, conversation)), '{}')
  from placed where before_id is null or (before_created_at, before_id) < (through_created_at, through_id)
$$;

-- The path of a branch; null when there is no such branch. A branch of a fork that leaves among shared messages begins with these.
-- Only a changed archive can hold a circle; of a circle this gives more than 64 steps.
create function branch_path(of_conversation uuid, of_branch uuid) returns jsonb language sql stable set timezone = 'UTC' as $$
  with recursive steps (branch, parent_id, fork_created_at, fork_message_id, through_created_at, through_id, depth) as (
    select id, parent_id, fork_created_at, fork_message_id, 'infinity'::timestamptz, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, 1
    from branches where id = of_branch and conversation_id = of_conversation
    union all
    select branches.id, branches.parent_id, branches.fork_created_at, branches.fork_message_id, steps.fork_created_at, steps.fork_message_id, depth + 1
    from steps join branches on branches.id = steps.parent_id and conversation_id = of_conversation
    where steps.fork_message_id is not null and depth < 66
  ), shared as (
    select path_through(base_path, fork_created_at, fork_message_id, null) as path
    from (select * from steps order by depth desc limit 1) first join forks on forks.conversation_id = of_conversation
    where fork_message_id is not null and depth < 66
  )
  select jsonb_object_agg(branch, jsonb_build_array(through_created_at, through_id)) || coalesce((select path from shared), '{}') from steps
$$;

---------------------------------------- turns

-- One attempt to answer a user's message, with what came of it. The text of the answer is in messages only. A row goes with its question, and
-- so with the exchange, the conversation or the user; its conversation needs no reference of its own.
create table turns (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  conversation_id uuid not null,
  -- The user's message. Null: the turn never began; its id is taken, so that a begin on its way, whose client has given up on it, fails.
  question_id uuid references messages on delete cascade,
  -- Set with the answer, which can be cut short.
  answer_id uuid,
  -- Hashes of the Idempotency-Key and of the request that came with it. The newest attempt has them.
  key_hash text collate "C",
  body_hash text collate "C",
  -- The last event without the text of the answer; null while the turn runs, and when its process died.
  outcome jsonb,
  -- Somebody asked to stop it: for the process that runs it, when it has missed the notification.
  cancel_requested boolean not null default false,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  -- When outcome and key were forgotten.
  emptied_at timestamptz(3),
  -- Null: the first branch.
  branch_id uuid
);

create unique index turns_by_key on turns (tenant_id, user_id, key_hash) where key_hash is not null;
create index turns_by_question on turns (question_id);
create index turns_to_empty on turns (started_at) where emptied_at is null;

-- What a turn did on the way to its answer. A call of a tool is stored before it runs (ended_at is null) and again when it has ended, so
-- that none runs twice. A row goes with its turn.
create table turn_steps (
  turn_id uuid not null references turns on delete cascade,
  seq integer not null,
  conversation_id uuid not null,
  agent text collate "C" not null,
  kind text collate "C" not null check (kind in ('model', 'tool', 'question', 'plan', 'compaction', 'agent')),
  name text collate "C" not null,
  call_id text collate "C",
  arguments jsonb,
  output text,
  ok boolean,
  tokens integer not null default 0,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  -- Who began the step of a turn that went on after a question, so that no two processes begin it. Null: the first process.
  runner uuid,
  -- What the server of a model wants back with an answer that called tools; json keeps the order of its fields.
  echo json,
  primary key (turn_id, seq)
);

-- What a turn asks a person, or the caller, and waits for. While it waits no process has the turn: its conversation is held for ever, and
-- whoever stores the answer goes on with it. A row goes with its turn.
create table questions (
  id uuid primary key,
  turn_id uuid not null references turns on delete cascade,
  conversation_id uuid not null,
  -- Its step.
  seq integer not null,
  type text collate "C" not null check (type in ('permission', 'clarification', 'decision', 'client_tool')),
  agent text collate "C" not null,
  -- As it is shown, but for the arguments of calls: they are the text that the model sent.
  content jsonb not null,
  -- The answer that counts when nobody answers; null: there is none.
  if_unanswered jsonb,
  -- What the turn needs to go on, besides what is stored of it anyway. Null when it has gone on to its end, or to its next question.
  resume jsonb,
  -- How often a process has gone on with it; more than once when one died.
  taken integer not null default 0,
  asked_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  answer jsonb,
  -- What the person said in their own words.
  answer_text text,
  answered_by text collate "C" check (answered_by in ('person', 'timeout', 'cancelled')),
  answered_at timestamptz(3)
);

create unique index questions_open on questions (turn_id) where answered_at is null;
create index questions_by_turn on questions (turn_id);
create index questions_to_go_on on questions (expires_at) where resume is not null;
create index questions_of_conversation on questions (conversation_id) where answered_at is null;

-- Who has allowed which tool for good. It counts for the tool as it was then: the digest is of its description and schema.
create table permissions (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  agent text collate "C" not null,
  tool text collate "C" not null,
  digest text collate "C" not null,
  created_at timestamptz(3) not null,
  unique (tenant_id, user_id, agent, tool)
);

-- Who allowed or answered what, and when: one row for each answered question, and one for each call that a rule allowed or refused.
-- No row of a conversation is referenced: a decision may have to be kept when everything else is erased.
create table decisions (
  -- The question's id, where there was one.
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  -- What is kept after an erase has no conversation, no question, and no answer in words.
  conversation_id uuid,
  turn_id uuid,
  -- The step: the call, or the question.
  seq integer,
  type text collate "C" not null,
  agent text collate "C" not null,
  question text,
  tool text collate "C",
  -- The call's: an object, or the text that the model sent.
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

---------------------------------------- summaries

-- The running text that stands for every completed message of a conversation up to its cover point, the pair of (created_at, id).
create table conversation_summaries (
  conversation_id uuid primary key references conversations on delete cascade,
  summary text not null,
  -- 1 for the first; each save adds one.
  summary_version integer not null check (summary_version >= 1),
  covered_through_created_at timestamptz(3) not null,
  covered_through_message_id uuid not null,
  -- 0 while it is rebuilt after an import of older messages.
  covered_message_count integer not null check (covered_message_count >= 0),
  token_count integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- What it says, in eight parts: turn/summary-parts.ts. Null: it has none.
  parts jsonb,
  -- The branch on which it was made; null: the first.
  branch_id uuid,
  -- The highest version ever, when a switch of branches has gone back to a lower one.
  last_version integer
);

-- The last versions of each summary, so that one can see what an answer was given: the receipt of a turn names the version.
create table conversation_summary_versions (
  conversation_id uuid not null references conversations on delete cascade,
  summary_version integer not null,
  summary text not null,
  covered_through_created_at timestamptz(3) not null,
  covered_through_message_id uuid not null,
  covered_message_count integer not null,
  token_count integer not null,
  updated_at timestamptz(3) not null,
  parts jsonb,
  branch_id uuid,
  primary key (conversation_id, summary_version)
);

---------------------------------------- core memory

-- What is true about a user now, in a few labelled sections. A section that was removed is not here; its versions are.
create table core_memory_sections (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  content text not null,
  version integer not null check (version >= 1),
  updated_by text not null check (updated_by in ('agent', 'person', 'import')),
  -- When it was said, which for imported messages is before it was written: what was said earlier replaces nothing.
  said_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, user_id, section)
);

-- Every version a section had; no content: it was removed. A conversation that is erased takes the versions with it that it gave rise to.
create table core_memory_versions (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  version integer not null check (version >= 1),
  content text,
  updated_by text not null check (updated_by in ('agent', 'person', 'import')),
  said_at timestamptz(3) not null,
  conversation_id uuid,
  trigger_message_id uuid,
  created_at timestamptz(3) not null,
  -- All messages that gave rise to it. Null: trigger_message_id alone is known.
  trigger_message_ids uuid[],
  primary key (tenant_id, user_id, section, version)
);

-- What the lines of a version rest on. The text stands in the version alone: here are ids only.
create table core_memory_lines (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  version integer not null,
  -- Its place among the lines of the version that are not blank, from 0.
  position integer not null,
  -- The messages whose words may be in it; none: a person wrote it.
  trigger_message_ids uuid[] not null,
  -- Messages that said it again without changing it.
  repeated_in uuid[] not null,
  -- By which messages the next version left it out; null: by those of that version.
  removed_by uuid[],
  primary key (tenant_id, user_id, section, version, position),
  foreign key (tenant_id, user_id, section, version) references core_memory_versions on delete cascade
);

-- Whoever changes the text of a version says anew what its lines rest on.
create function forget_core_memory_lines() returns trigger language plpgsql as $$
begin
  delete from core_memory_lines
  where tenant_id = new.tenant_id and user_id = new.user_id and section = new.section and version = new.version;
  return null;
end $$;

create trigger core_memory_version_changed after update of content on core_memory_versions
for each row when (old.content is distinct from new.content) execute function forget_core_memory_lines();

-- What was done to a user's memory and why; `refused` says why it was not.
create table memory_operations (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  operation text not null,
  section text,
  -- The version of the section that it made.
  version integer,
  old_value text,
  new_value text,
  reason text,
  actor text not null check (actor in ('agent', 'person', 'import')),
  refused text,
  conversation_id uuid,
  trigger_message_id uuid,
  created_at timestamptz(3) not null,
  -- As in core_memory_versions.
  trigger_message_ids uuid[],

  -- The rest is of operations on the archive.
  episode_type text,
  importance double precision,
  -- A search: how many it found, and the id and score of the best one.
  results_count integer,
  top_result jsonb,
  -- The archived memory that it made, corrected or deleted, and the messages whose words that had before.
  memory_id uuid,
  rests_on uuid[]
);

create index memory_operations_by_user on memory_operations (tenant_id, user_id, created_at, id);

-- How far the memory agent has read a conversation.
create table memory_cursors (
  conversation_id uuid primary key references conversations on delete cascade,
  read_through_created_at timestamptz(3) not null,
  read_through_message_id uuid not null,
  -- After an import of older messages the cursor goes back. Up to here, messages with ids before `known_before_id` have been read already:
  -- ids rise with the time at which messages were stored.
  known_through_created_at timestamptz(3),
  known_through_message_id uuid,
  known_before_id uuid
);

-- Turns that the memory agent reads again: what rested on them and on something erased is gone, and is decided anew from them.
create table turns_to_read_again (
  -- The user's message.
  message_id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  noted_at timestamptz(3) not null
);

create index turns_to_read_again_by_conversation on turns_to_read_again (conversation_id);

---------------------------------------- episodes, the archive

-- What the memory agent put into the archive: an episode of its own, in the indexes whose names are listed.
create table archived_memories (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  trigger_message_id uuid not null,
  content text not null,
  episode_type text not null check (episode_type in ('preference', 'decision', 'context', 'outcome')),
  importance double precision not null check (importance between 0 and 1),
  index_names text[] not null default '{}',
  created_at timestamptz(3) not null,
  -- As in core_memory_versions.
  trigger_message_ids uuid[],
  -- Messages that would have archived the same.
  repeated_in uuid[] not null default '{}',
  -- When the memory agent last corrected it. It may then rest on messages of other conversations, too.
  corrected_at timestamptz(3)
);

-- Archiving the same again changes nothing.
create unique index archived_memories_once on archived_memories (conversation_id, md5(content));

-- Search indexes are derived from messages and can be rebuilt; this says which one serves, and with what its vectors were made.
create table search_indexes (
  -- Name of the table or collection.
  name text primary key,
  kind text not null check (kind in ('episodes')),
  -- One serves; another may be in the making, see scripts/reindex.ts. One that serves no more keeps its record until it is dropped; there
  -- may be several, and the state of each ends with its name because (kind, state) is unique.
  state text not null constraint search_indexes_state_check check (state in ('current', 'building') or state = 'leaving ' || name),
  -- 'postgres' or 'milvus'.
  store text not null,
  embedder text not null,
  dimensions integer not null,
  created_at timestamptz(3) not null,
  -- Since when it serves no more; null before.
  left_at timestamptz(3),
  unique (kind, state)
);

-- How far a conversation has been indexed: each completed turn up to here is an episode.
create table episode_cursors (
  conversation_id uuid not null references conversations on delete cascade,
  index_name text not null,
  indexed_through_created_at timestamptz(3) not null,
  indexed_through_message_id uuid not null,
  -- The last episode, which is the one before the next; null before the first.
  last_episode_id uuid,
  primary key (conversation_id, index_name)
);

---------------------------------------- knowledge

-- Named sets of documents of a tenant; the name is what callers use as kb_prefix.
create table knowledge_bases (
  tenant_id text collate "C" not null,
  prefix text collate "C" not null,
  description text not null,
  keywords text[] not null default '{}',
  worker text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- What the model is told in its turns; null: nothing.
  instructions text,
  primary key (tenant_id, prefix)
);

-- A document as it was brought in. Of several with the same external_id one is indexed and answers; a newer one takes its place when it is
-- indexed itself.
create table knowledge_documents (
  id uuid primary key,
  tenant_id text collate "C" not null,
  prefix text collate "C" not null,
  external_id text collate "C",
  title text not null,
  content_type text not null,
  metadata jsonb not null default '{}',
  status text not null check (status in ('pending', 'indexed', 'failed')),
  -- Why it failed, in words for people.
  error text,
  chunk_count integer not null default 0,
  -- Kept until it has been read.
  source bytea,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- Its headings, joined, at most 200 characters: what it is about, for knowledge bases without a description of their own.
  headings text,
  foreign key (tenant_id, prefix) references knowledge_bases on delete cascade
);
-- Compressing megabytes holds up whoever waits for the database, and the embedded one is in the process itself.
alter table knowledge_documents alter column source set storage external;

create index knowledge_documents_in_order on knowledge_documents (tenant_id, prefix, created_at, id);
create index knowledge_documents_by_external_id on knowledge_documents (tenant_id, prefix, external_id) where external_id is not null;

-- Pieces of documents in order, with the headings above them. `index_names`: the search indexes that have it.
create table knowledge_chunks (
  id uuid primary key,
  document_id uuid not null references knowledge_documents on delete cascade,
  position integer not null,
  heading text not null,
  content text not null,
  index_names text[] not null default '{}',
  unique (document_id, position)
);

---------------------------------------- agents, skills and tools

-- Agents of tenants. `spec` is what the caller sent; null disables an agent of the same name that a file has.
create table agents (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  spec jsonb,
  version integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, name)
);

-- Every version of an agent, for whoever asks how it was when a turn ran. A deleted agent takes its versions along.
create table agent_versions (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  spec jsonb,
  created_at timestamptz(3) not null,
  primary key (tenant_id, name, version),
  foreign key (tenant_id, name) references agents on delete cascade
);

-- How often and when an agent took part in a conversation.
create table conversation_agents (
  conversation_id uuid not null references conversations on delete cascade,
  agent text collate "C" not null,
  interaction_count integer not null,
  last_interaction_type text collate "C" not null,
  last_interaction_at timestamptz(3) not null,
  state_description text,
  primary key (conversation_id, agent)
);

-- Skills of tenants. `files` are texts by path, SKILL.md among them, and `description` is what that says; both are null where a tenant
-- disables a skill of the same name that a folder has.
create table skills (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  description text,
  files jsonb,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, name),
  check ((description is null) = (files is null))
);

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

-- Sign-ins of users at MCP servers. `sealed`: the client and the tokens, encrypted with SECRETS_KEY for the origin of the server.
create table mcp_grants (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  server text collate "C" not null,
  sealed text not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, user_id, server)
);

---------------------------------------- models and usage

-- What the servers of models have shown of them, by the model's name. It is of no tenant.
create table model_measures (
  model text collate "C" primary key,
  -- The context by which a longer prompt was refused, and when.
  context_window integer,
  refused_at timestamptz(3),
  -- What servers have counted of its prompts: CountedPrompts of models/facts/token-counts.ts.
  counted jsonb
);

-- What requests to a server and model need, as its refusals have shown.
create table model_dialects (
  server text not null,
  model text not null,
  what text not null,
  words text not null,
  learned_at timestamptz not null,
  primary key (server, model, what)
);

-- Tokens that the turns of a tenant used on a day of UTC; written only while there is a limit. Holds nothing of a user.
create table token_usage (
  tenant_id text collate "C" not null,
  day date not null,
  tokens bigint not null check (tokens >= 0),
  primary key (tenant_id, day)
);

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

---------------------------------------- erasing

-- That something was erased, and nothing of what it was: all of an owner (a hash), one group of episodes (a hash too) or one episode. A turn
-- compares the newest of its user before and after it has read the memory; a rebuild of the index leaves out what was erased meanwhile.
create table erase_markers (
  id uuid primary key,
  owner_key text collate "C" not null,
  group_id uuid,
  episode_id uuid,
  erased_at timestamptz(3) not null
);

create index erase_markers_by_owner on erase_markers (owner_key, erased_at) where group_id is null and episode_id is null;
create index erase_markers_by_time on erase_markers (erased_at);

-- An erase that is too large for one transaction, and how far it has got. Holds nothing of what is erased. The rows that it takes out belong to
-- nobody meanwhile: conversations have the tenant '' and the erasure's id as their user, documents the tenant '' and that id as their prefix.
create table erasures (
  id uuid primary key,
  -- Hashes of whose it was: of the tenant, and of tenant and user or of tenant and knowledge base.
  tenant_key text collate "C" not null,
  owner_key text collate "C" not null,
  -- Null: everything of its owner.
  conversation_id uuid,
  -- Messages that were set aside.
  all_messages integer not null default 0,
  -- Taken out so far.
  messages integer not null default 0,
  summaries integer not null default 0,
  episodes integer not null default 0,
  core_memory_sections integer not null default 0,
  memory_operations integer not null default 0,
  jobs integer not null default 0,
  started_at timestamptz(3) not null,
  -- Null while something is left. The row goes 30 days later.
  finished_at timestamptz(3),
  -- When the answer to a further DELETE has told that it is done, which it does once; the row is kept for those who ask for it by its id.
  told_at timestamptz(3)
);

---------------------------------------- fresh looks

-- A statement sees what was there when it began, not what it waited for. These functions are volatile: each call looks anew, so a statement
-- that has taken a lock sees what was committed meanwhile (docs/decisions/0036).

-- Whether an index lacks something of a conversation; without a name the current index.
create function has_unindexed_episodes(conversation uuid, wanted text default null) returns boolean language plpgsql volatile as $$
declare
  index text := coalesce(wanted, (select name from search_indexes where kind = 'episodes' and state = 'current'));
begin
  return exists (
    select from archived_memories where conversation_id = conversation and not index_names @> array[index]
  ) or exists (
    select from messages
    where conversation_id = conversation and completed
      and (role = 'assistant' and (import_number is null and metadata ? 'turn_id' or partner_id is null)
        or role = 'user' and not (import_number is null and metadata ? 'turn_id'))
      and (created_at, id) > (
        coalesce((select indexed_through_created_at from episode_cursors where conversation_id = conversation and index_name = index), '-infinity'),
        coalesce((select indexed_through_message_id from episode_cursors where conversation_id = conversation and index_name = index),
          '00000000-0000-0000-0000-000000000000'))
  );
end $$;

-- Whether the memory agent has something to read of a user, or to read again.
create function has_unread_turns(tenant text, "user" text) returns boolean language plpgsql volatile as $$
begin
  return exists (
    select from conversations left join memory_cursors on conversation_id = conversations.id
    where tenant_id = tenant and user_id = "user"
      and last_message_at >= coalesce(read_through_created_at, '-infinity')
      and exists (
        select from messages where messages.conversation_id = conversations.id and completed
          and (role = 'assistant' and (import_number is null and metadata ? 'turn_id' or partner_id is null)
            or role = 'user' and not (import_number is null and metadata ? 'turn_id'))
          and (messages.created_at, messages.id)
            > (coalesce(read_through_created_at, '-infinity'), coalesce(read_through_message_id, '00000000-0000-0000-0000-000000000000')))
  ) or exists (
    select from turns_to_read_again join conversations on conversations.id = turns_to_read_again.conversation_id
    where tenant_id = tenant and user_id = "user"
  );
end $$;

-- Whether core memory has to follow a path, or the memory agent to read something.
create function has_unread_memory(tenant text, "user" text) returns boolean language plpgsql volatile as $$
begin
  return has_unread_turns(tenant, "user")
    or exists (select from conversations where tenant_id = tenant and user_id = "user" and path is distinct from remembered_path);
end $$;

-- When an owner was last erased as a whole.
create function last_erasure_of(owner text) returns text language plpgsql volatile as $$
begin
  return (select max(erased_at)::text from erase_markers where owner_key = owner and group_id is null and episode_id is null);
end $$;
