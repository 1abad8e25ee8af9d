-- Compatible from 0009.
-- What the model is told in the turns of a knowledge base; null: nothing.
alter table knowledge_bases add column instructions text;
