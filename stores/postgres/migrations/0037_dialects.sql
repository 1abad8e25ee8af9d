-- Compatible from 0009.
-- What the server of a model wants back with an answer that called tools.
alter table turn_steps add column echo json; -- as it came, to the order of its fields

-- What requests to a server and model need, as its refusals have shown.
create table model_dialects (
  server text not null,
  model text not null,
  what text not null,
  words text not null,
  learned_at timestamptz not null,
  primary key (server, model, what)
);
