-- Compatible from 0009.
-- What the servers of models have shown of them, by the model's name. It is of no tenant.
create table model_measures (
  model text collate "C" primary key,
  -- The context by which a longer prompt was refused, and when.
  context_window integer,
  refused_at timestamptz(3)
);
