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
  primary key (conversation_id, summary_version)
);

insert into conversation_summary_versions (conversation_id, summary_version, summary, covered_through_created_at, covered_through_message_id,
  covered_message_count, token_count, updated_at)
select conversation_id, summary_version, summary, covered_through_created_at, covered_through_message_id, covered_message_count, token_count, updated_at
from conversation_summaries;
