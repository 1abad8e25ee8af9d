-- Named sets of documents of a tenant; the name is what callers use as kb_prefix.
create table knowledge_bases (
  tenant_id text collate "C" not null,
  prefix text collate "C" not null,
  description text not null,
  keywords text[] not null default '{}',
  worker text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
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
  -- Until it has been read.
  source bytea,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  foreign key (tenant_id, prefix) references knowledge_bases on delete cascade
);

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
