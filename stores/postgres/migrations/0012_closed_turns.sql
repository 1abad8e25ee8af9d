-- Compatible from 0009.
-- A row without a question stands for a turn that never began: its id is taken, so that a begin on its way, whose client has given up on it, fails.
alter table turns alter column question_id drop not null;
