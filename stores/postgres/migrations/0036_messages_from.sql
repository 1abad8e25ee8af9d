-- Compatible from 0009.
-- The earliest message that an import gave a branch. Null: the branch has none from before it was made.
alter table branches add column messages_from timestamptz(3);
