-- Compatible from 0009.
-- Sources of documents are stored as they are: compressing megabytes holds up whoever waits for the database, and the embedded one is in the
-- process itself. What is stored already stays as it is.
alter table knowledge_documents alter column source set storage external;
