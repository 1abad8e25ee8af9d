import type { Database } from "../database/database.ts";

/** What a model's server has shown. */
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

interface StoredLesson<What extends string> {
  server: string;
  model: string;
  what: What;
  words: string;
  at: Date;
}

const READ_DIALECTS = `select server, model, what, words, learned_at as at from model_dialects order by learned_at`;

const SAVE_LESSON = `
insert into model_dialects (server, model, what, words, learned_at) values ($1, $2, $3, $4, $5)
on conflict (server, model, what) do update set words = excluded.words, learned_at = excluded.learned_at`;

const REMOVE_LESSON = `delete from model_dialects where server = $1 and model = $2 and what = $3`;

export function readDialects<What extends string>(database: Database): Promise<StoredLesson<What>[]> {
  return database.query<StoredLesson<What>>({ name: "model-dialects", text: READ_DIALECTS, values: [] });
}

export async function saveLesson(database: Database, { server, model, what, words, at }: StoredLesson<string>): Promise<void> {
  await database.query({ name: "model-lesson-save", text: SAVE_LESSON, values: [server, model, what, words, at] });
}

export async function removeLesson(database: Database, { server, model, what }: Omit<StoredLesson<string>, "words" | "at">): Promise<void> {
  await database.query({ name: "model-lesson-remove", text: REMOVE_LESSON, values: [server, model, what] });
}
