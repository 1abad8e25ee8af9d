-- An index that serves no more keeps its record until it is dropped. There may be several: the state of each ends with its name, because
-- (kind, state) stays unique, by which the version before adds its records.
alter table search_indexes drop constraint search_indexes_state_check;
alter table search_indexes add constraint search_indexes_state_check check (state in ('current', 'building') or state = 'leaving ' || name);

-- Since when it serves no more; null before.
alter table search_indexes add column left_at timestamptz(3);
