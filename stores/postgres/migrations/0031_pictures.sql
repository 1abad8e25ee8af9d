-- Compatible from 0009.
-- Pictures of users, each once by the hash of its bytes, however many messages show it. It goes with the last message that does.
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

-- How many pictures a message shows, for whoever reads its words alone.
alter table messages add column picture_count smallint not null default 0;

-- Whoever shows the picture meanwhile holds its row, and a new statement sees what was committed until then.
create function forget_picture() returns trigger language plpgsql as $$
begin
  perform from pictures where id = old.picture_id for update;
  delete from pictures where id = old.picture_id and not exists (select from message_pictures where picture_id = old.picture_id);
  return null;
end $$;
create trigger message_picture_gone after delete on message_pictures
  for each row when (old.picture_id is not null) execute function forget_picture();
