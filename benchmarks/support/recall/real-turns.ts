import pg from "pg";
import { type Figure, figureOf } from "../figures.ts";
import { allJobsDone, eightAtATime } from "../service/memory-users.ts";
import { postApi, startMemoryService, startMemoryStores } from "../service/memory-service.ts";
import { startModel } from "../start-process.ts";
import type { TurnResult } from "../../../turn/events.ts";
import { type RecallHistory, type RecallSet, unitOf } from "./read-sets.ts";

/** What the prompt of one turn had of its question's gold. */
interface Told {
  category: string;
  /** 0 to 1. */
  share: number;
  recalledTokens: number;
}

/** In a conversation of its own, or in one with the user's other questions, which become memory. */
const PLACES = ["a new session", "within a talk"] as const;
/** A model of memory's own would rewrite questions. What a prompt holds is measured, not what a busy machine has in time. */
const SETTINGS = { MEMORY_MODEL: "", MEMORY_READ_TIMEOUT_MS: "60000" };
type InPlace = Record<(typeof PLACES)[number], Told[]>;

/** The goals of a default turn in a new session, in per cent, with multilingual-e5-small. */
const GOALS: Record<string, number | undefined> = { LoCoMo: 83, "MADial zh": 80, MemDaily: 85, LongMemEval: 84 };

/** With a question of a certain day all is dated as long ago as it was then. */
async function importHistory(url: string, user: string, { messages, questions }: RecallHistory): Promise<void> {
  const askedAt = questions.at(-1)?.askedAt;
  const later = askedAt ? Date.now() - askedAt.getTime() : 0;
  const dated = messages.map(({ createdAt, ...message }) => ({
    ...message,
    ...(createdAt ? { created_at: new Date(createdAt.getTime() + later).toISOString() } : {}),
  }));
  await postApi(url, "/conversations/import", { user_id: user, session_id: "history", messages: dated });
}

/** The unit of each imported message, by the message's id. */
async function readUnits(databaseUrl: string): Promise<Map<string, string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const text = "select id, metadata->>'external_id' as external from messages where metadata ? 'external_id'";
  const { rows } = await client.query<{ id: string; external: string }>(text).finally(() => client.end());
  return new Map(rows.map(({ id, external }) => [id, unitOf(external)]));
}

/** Asks each question of a set as a turn of the service, with the settings of `embedder`, else with its defaults. */
async function askSet({ histories }: RecallSet, embedder: Record<string, string>): Promise<InPlace> {
  await using opened = new AsyncDisposableStack();
  const [model, stores] = [await startModel(opened), await startMemoryStores(opened)];
  const environment = await stores.open();
  const { url, process } = await startMemoryService("real turns", model.line, { ...environment, ...SETTINGS, ...embedder });
  opened.defer(() => process.stop());
  for (const [user, history] of histories.entries()) await importHistory(url, `user-${user}`, history);
  await allJobsDone(url);
  const units = await readUnits(environment.DATABASE_URL);
  const told: InPlace = { "a new session": [], "within a talk": [] };
  await eightAtATime(histories.length, async (user) => {
    const { questions = [] } = histories[user] ?? {};
    for (const place of PLACES.slice(0, questions.length))
      for (const { text: message, category, units: gold } of questions) {
        const how = place === "within a talk" ? { session_id: "talk" } : { remember: false };
        const { receipt, degraded } = await postApi<TurnResult>(url, "/chat", { user_id: `user-${user}`, message, ...how });
        if (degraded.length > 0) throw new Error(`A turn was answered without ${degraded.join(", ")}.`);
        const shown = new Set(receipt.episodes.flatMap(({ message_ids }) => message_ids.flatMap((id) => units.get(id) ?? [])));
        const share = gold.filter((unit) => shown.has(unit)).length / gold.length;
        told[place].push({ category, share, recalledTokens: receipt.prompt_tokens?.episodes ?? 0 });
      }
  });
  return told;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function figuresOf(told: readonly Told[], of: string, goal: number | undefined): Figure[] {
  const shareOf = (some: readonly Told[]): number => 100 * mean(some.map(({ share }) => share));
  const questionsWith = (isEnough: (share: number) => boolean): number => 100 * mean(told.map(({ share }) => (isEnough(share) ? 1 : 0)));
  const figure = figureOf(`gold in the prompt, ${of}`, "%", [[shareOf(told)]], goal === undefined ? {} : { goal: { atLeast: goal } });
  const categories = [...new Set(told.map(({ category }) => category))].toSorted();
  return [
    { ...figure, samples: told.length },
    figureOf(`any gold in the prompt, ${of}`, "%", [[questionsWith((share) => share > 0)]]),
    figureOf(`all gold in the prompt, ${of}`, "%", [[questionsWith((share) => share === 1)]]),
    figureOf(`recalled, ${of}`, "tokens", [[mean(told.map(({ recalledTokens }) => recalledTokens))]]),
    ...(categories.length < 2 ? [] : categories).map((one): Figure => {
      const some = told.filter(({ category }) => category === one);
      return { ...figureOf(`gold in the prompt, ${of}, ${one}`, "%", [[shareOf(some)]]), samples: some.length };
    }),
  ];
}

/** What the prompts of default turns have, for each set, with the built-in embedder and the one of the environment. */
export async function measureRealTurns(sets: readonly RecallSet[], tell: (what: string) => void): Promise<Figure[]> {
  const real = Object.entries(process.env).filter(([name, value]) => name.startsWith("EMBEDDING_") && value);
  const embedders = [{ name: "built-in", settings: {} }];
  if (process.env["EMBEDDING_BASE_URL"])
    embedders.push({ name: String(process.env["EMBEDDING_MODEL"]), settings: Object.fromEntries(real) });
  const figures: Figure[] = [];
  for (const { name, settings } of embedders)
    for (const set of sets) {
      tell(`real turns: ${set.name}, ${name}`);
      const told = await askSet(set, settings);
      for (const place of PLACES.filter((one) => told[one].length > 0)) {
        const goal = name !== "built-in" && place === "a new session" ? GOALS[set.name] : undefined;
        figures.push(...figuresOf(told[place], `${place}, ${set.name}, ${name}`, goal));
      }
    }
  return figures;
}
