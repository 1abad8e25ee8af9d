-- Compatible from 0009.
-- What a document is about, for knowledge bases without a description of their own: its headings, joined, at most 200 characters.
alter table knowledge_documents add column headings text;
