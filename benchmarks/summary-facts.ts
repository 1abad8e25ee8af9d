import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import { openEpisodicMemory } from "../memory/episodes/open-episodic-memory.ts";
import { runMemoryJobs } from "../memory/run-memory-jobs.ts";
import type { Embedder } from "../models/embedder.ts";
import { createOpenAIChatModel } from "../models/openai-chat-model.ts";
import { makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgresSearchStore } from "../stores/search/postgres/open-postgres-search-store.ts";
import { defineBench, EMBEDDER_ENVIRONMENT } from "./support/bench.ts";
import type { Dialogue } from "./support/dialogues/dialogue.ts";
import { generateDialogues } from "./support/dialogues/generate-dialogues.ts";
import { PLANTED_FACTS, type PlantedFact } from "./support/dialogues/planted-facts.ts";
import { playDialogue, ScriptedChatModel } from "./support/dialogues/play-dialogue.ts";
import { type Figure, figureOf } from "./support/figures.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";

type Numbers = Record<"turns", number>;

/** The built-in summariser, and the model that the environment names. */
const SUMMARISERS: readonly [name: string, model: BaseChatModel | null][] = [["built-in summariser", null]];
/** For one summary of a slow model, in milliseconds. */
const SETTLE_MS = 600_000;
const GOAL = { atLeast: 90 };

function summarisers(): readonly [name: string, model: BaseChatModel | null][] {
  const { SUMMARY_MODEL: model, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = process.env;
  return model ? [...SUMMARISERS, [model, createOpenAIChatModel({ model, baseUrl, apiKey, maxTokens: 4_000 })]] : SUMMARISERS;
}

/** A dialogue in which each fact is told at the beginning of a turn, evenly over the first nine tenths, and asked for at the end. */
function plant({ set, exchanges }: Dialogue, facts: readonly PlantedFact[]): Dialogue {
  const told = new Map(facts.map(([fact], place) => [Math.floor(((place + 0.5) * 0.9 * exchanges.length) / facts.length), fact]));
  const talk = exchanges.map(({ user, assistant }, turn) => ({ user: [told.get(turn), user].filter(Boolean).join(" "), assistant }));
  return {
    set,
    exchanges: [...talk, ...facts.map(([, question]) => ({ user: question, assistant: set.endsWith("zh") ? "好的。" : "OK." }))],
  };
}

interface Answerable {
  /** Of each fact. */
  bySummary: boolean[];
  byAll: boolean[];
}

/** For each fact whether its value stands in the prompt of the turn that asks for it. */
async function askAll(
  numbers: Numbers,
  { model: summaryModel, embedder, progress, name }: { model: BaseChatModel | null; embedder: Embedder; progress: Progress; name: string },
): Promise<Map<string, Answerable>> {
  await using opened = new AsyncDisposableStack();
  const database = await openEmbeddedPostgres(IN_MEMORY);
  opened.defer(() => database.close());
  await migrate(database);
  const store = await openPostgresSearchStore(database);
  const episodicMemory = await openEpisodicMemory({ database, store, embedder });
  const jobs = await runMemoryJobs({ database, summaryModel, coreMemory: null, episodicMemory });
  opened.defer(() => jobs.stop(1_000));
  const model = new ScriptedChatModel();
  const episodes = { recall: episodicMemory.recall, scope: "conversation" as const, timeoutMs: SETTLE_MS };
  const graph = createConversationGraph({ database, chatModel: model, coreMemory: null, episodes });
  const answers = new Map<string, Answerable>();
  for (const dialogue of generateDialogues({ count: 1, turns: numbers.turns })) {
    const facts = PLANTED_FACTS[dialogue.set] ?? [];
    const answerable: Answerable = { bySummary: [], byAll: [] };
    const onTurn = (turn: number): void => {
      progress.step(`${name}, ${dialogue.set}: turns`, turn + 1, numbers.turns + facts.length);
      const [, , value = ""] = facts[turn - numbers.turns] ?? [];
      if (value === "") return;
      const texts = model.lastPrompt.map(({ text }) => text);
      // What was recalled stands before the question, in the last message.
      answerable.bySummary.push(texts.slice(0, -1).some((text) => text.includes(value)));
      answerable.byAll.push(texts.some((text) => text.includes(value)));
    };
    await playDialogue(plant(dialogue, facts), dialogue.set, {
      graph,
      model,
      overview: makeJobOverview(database),
      onTurn,
      settleMs: SETTLE_MS,
    });
    answers.set(dialogue.set, answerable);
  }
  return answers;
}

async function run(numbers: Numbers, progress: Progress): Promise<Measured> {
  const figures: Figure[] = [];
  const embedder = (await openEmbedders()).at(-1) as Embedder;
  for (const [name, model] of summarisers()) {
    for (const [set, { bySummary, byAll }] of await askAll(numbers, { model, embedder, progress, name })) {
      const share = (answerable: boolean[]): number[][] => [[(100 * answerable.filter(Boolean).length) / answerable.length]];
      const unit = `% of ${byAll.length}`;
      figures.push(figureOf(`answerable from summary and window, ${name}, ${set}`, unit, share(bySummary)));
      figures.push(
        figureOf(`answerable from summary, window and recall, ${name}, ${embedder.name}, ${set}`, unit, share(byAll), { goal: GOAL }),
      );
    }
  }
  const notes = [
    "A fact is answerable when the words that tell it stand in the prompt of the turn that asks for it: in its summary or window, or in what was recalled as well. Core memory is off.",
  ];
  return { figures, notes };
}

export const summaryFacts = defineBench({
  asks: "Which share of facts can still be answered after many turns, from the summary and with recall",
  minutes: { short: 1, long: 2 },
  numbers: { turns: { of: "turns of each dialogue before the facts are asked for", short: 100, long: 100 } },
  environment: {
    "SUMMARY_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY": "a model that summarises, beside the built-in one",
    ...EMBEDDER_ENVIRONMENT,
  },
  run,
});
