import type { Database } from "./database/database.ts";

/** What the server of a model has shown of it. */
interface ModelMeasures<Counted> {
  model: string;
  /** The context by which a longer prompt was refused, and when. */
  tokens: number | null;
  at: Date | null;
  counted: Counted | null;
}

const READ = `select model, context_window as tokens, refused_at as at, counted from model_measures`;

const SAVE_CONTEXT = `
insert into model_measures (model, context_window, refused_at) values ($1, $2, $3)
on conflict (model) do update set context_window = excluded.context_window, refused_at = excluded.refused_at`;

const SAVE_COUNTED = `
insert into model_measures (model, counted) values ($1, $2::jsonb) on conflict (model) do update set counted = excluded.counted`;

export function readModelMeasures<Counted>(database: Database): Promise<ModelMeasures<Counted>[]> {
  return database.query<ModelMeasures<Counted>>({ name: "model-measures", text: READ, values: [] });
}

export async function saveLearnedContext(database: Database, learned: { model: string; tokens: number; at: Date }): Promise<void> {
  await database.query({ name: "model-context-save", text: SAVE_CONTEXT, values: [learned.model, learned.tokens, learned.at] });
}

/** The last process that saves wins: all of them learn from the same servers. */
export async function saveCounted(database: Database, model: string, counted: object): Promise<void> {
  await database.query({ name: "model-counted-save", text: SAVE_COUNTED, values: [model, JSON.stringify(counted)] });
}
