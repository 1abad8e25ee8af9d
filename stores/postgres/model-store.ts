import type { Database } from "./database/database.ts";

/** A context by which the server of a model has refused a longer prompt. */
interface RefusedContext {
  model: string;
  tokens: number;
  at: Date;
}

const READ = `select model, context_window as tokens, refused_at as at from model_measures where context_window is not null`;

const SAVE = `
insert into model_measures (model, context_window, refused_at) values ($1, $2, $3)
on conflict (model) do update set context_window = excluded.context_window, refused_at = excluded.refused_at`;

export function readLearnedContexts(database: Database): Promise<RefusedContext[]> {
  return database.query<RefusedContext>({ name: "model-contexts", text: READ, values: [] });
}

export async function saveLearnedContext(database: Database, { model, tokens, at }: RefusedContext): Promise<void> {
  await database.query({ name: "model-context-save", text: SAVE, values: [model, tokens, at] });
}
