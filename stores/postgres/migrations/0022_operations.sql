-- Compatible from 0009.
-- What an operation on the archive was about. Of a search: how many it found, and the id and score of the best one.
alter table memory_operations add column episode_type text;
alter table memory_operations add column importance double precision;
alter table memory_operations add column results_count integer;
alter table memory_operations add column top_result jsonb;
-- The archived memory that it made, corrected or deleted, and the messages whose words that had before.
alter table memory_operations add column memory_id uuid;
alter table memory_operations add column rests_on uuid[];
-- When the memory agent last corrected it. It may then rest on messages of other conversations, too.
alter table archived_memories add column corrected_at timestamptz(3);
