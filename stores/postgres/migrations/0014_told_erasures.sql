-- Compatible from 0009.
-- When the answer to a further DELETE has told that it is done, which it does once; the row is kept for those who ask for it by its id.
alter table erasures add column told_at timestamptz(3);
