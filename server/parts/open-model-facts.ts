import { AppError, toAppError } from "../../errors/app-error.ts";
import { makeAskContext } from "../../models/facts/ask-server.ts";
import { type AskContext, makeModelFacts, type ModelFactsSource } from "../../models/facts/model-facts.ts";
import { type LearnedContexts, makeLearnedContexts } from "../../models/facts/learned-contexts.ts";
import { budgetOf } from "../../models/facts/prompt-budget.ts";
import { makePromptLimits, type PromptLimits } from "../../models/facts/prompt-limits.ts";
import { type Lesson, makeDialects } from "../../models/wire/dialects.ts";
import { type CountedPrompts, makeTokenCounts, type TokenCounts } from "../../models/facts/token-counts.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import {
  readDialects,
  readModelMeasures,
  removeLesson,
  saveCounted,
  saveLearnedContext,
  saveLesson,
} from "../../stores/postgres/usage/model-store.ts";
import type { Config } from "../settings/config.ts";
import { listedServers, modelNames, modelServer } from "./open-models.ts";
import type { ModelList } from "../settings/read-model-list.ts";
import { readModelProfiles } from "../settings/read-model-profiles.ts";

/** LangChain's profiles have its contexts; the server tells none. */
const isOpenAI = (url: string): boolean => new URL(url).hostname === "api.openai.com";

/**
 * Asks the models' servers in the background; of two models with one name, the one that answers. `onAssumed` gets each answering model with
 * an unknown context.
 */
export function openModelFacts(
  config: Config,
  { list, learned, onAssumed }: { list: ModelList; learned: LearnedContexts; onAssumed: (model: string) => void },
): ModelFactsSource {
  const askers = new Map<string, AskContext>();
  const names = modelNames(config);
  for (const task of ["memory", "summary", "router", "chat"] as const) {
    const server = modelServer(config, task);
    if (server && !(names[task] in list) && !isOpenAI(server.url)) askers.set(names[task], makeAskContext(server));
  }
  const listed = listedServers(config, list);
  for (const [name, { model, server }] of Object.entries(listed)) {
    if (isOpenAI(server.url) || list[name]?.api === "anthropic") continue; // nothing to tell
    const askContext = makeAskContext(server);
    askers.set(name, (_name, signal) => askContext(model, signal));
  }
  const ask: AskContext = async (model, signal) => (await askers.get(model)?.(model, signal)) ?? null;
  const profiles = readModelProfiles(config.MODEL_PROFILES);
  const facts = makeModelFacts({ profiles, ask, learned, onAssumed, servedAs: (name) => listed[name]?.model ?? name });
  for (const name of new Set([...Object.values(names), ...Object.keys(listed)])) facts.of(name);
  assertPriced(config, facts, listed);
  return facts;
}

/** Throws AppError `invalid_configuration` when COST_PER_DAY could not count a model. */
function assertPriced(config: Config, facts: ModelFactsSource, listed: Record<string, { model: string }>): void {
  if (config.COST_PER_DAY === 0) return;
  const tasks = ["chat", "router", "summary", "memory"] as const;
  const used = tasks.filter((task) => modelServer(config, task)).map((task) => modelNames(config)[task]);
  const titles = config.TITLE_MODEL === undefined ? [] : [config.TITLE_MODEL];
  const served = [...used, ...titles, ...Object.keys(listed)].map((name) => listed[name]?.model ?? name);
  const unpriced = served.filter((name) => !facts.of(name).prices);
  if (unpriced.length === 0) return;
  const problem = `needs the prices of ${[...new Set(unpriced)].join(", ")}; add them to MODEL_PROFILES, 0 for a model that costs nothing`;
  throw new AppError("invalid_configuration", `COST_PER_DAY: ${problem}`, { details: [{ field: "COST_PER_DAY", problem }] });
}

/** Lessons of servers. What cannot be stored is learned again by the next process. */
export async function openMeasures(database: Database, onError: (error: AppError) => void) {
  const [stored, lessons] = await Promise.all([readModelMeasures<CountedPrompts>(database), readDialects<Lesson>(database)]);
  let saved: Promise<unknown> = Promise.resolve();
  function inBackground(saving: Promise<void>): void {
    const ended = saving.catch((error: unknown) => onError(toAppError(error)));
    saved = saved.then(() => ended);
  }
  const contexts = stored.flatMap(({ model, tokens, at }) => (tokens === null || at === null ? [] : [{ model, tokens, at }]));
  return {
    dialects: makeDialects({
      stored: lessons,
      save: (lesson) => inBackground(saveLesson(database, lesson)),
      remove: (lesson) => inBackground(removeLesson(database, lesson)),
    }),
    learned: makeLearnedContexts({ stored: contexts, save: (learned) => inBackground(saveLearnedContext(database, learned)) }),
    counts: makeTokenCounts({
      stored: stored.flatMap(({ model, counted }) => (counted === null ? [] : [{ model, counted }])),
      save: (model, counted) => inBackground(saveCounted(database, model, counted)),
    }),
    /** Resolves when nothing is being stored. */
    close: async (): Promise<void> => void (await saved),
  };
}

/** CONTEXT_TOKEN_BUDGET limits every model; a server's refusal limits it further. */
export function openPromptLimits(
  config: Config,
  { facts, learned, counts }: { facts: ModelFactsSource; learned: LearnedContexts; counts: TokenCounts },
): PromptLimits {
  const { CONTEXT_TOKEN_BUDGET: fixed, MAX_ANSWER_TOKENS: longestAnswer } = config;
  const outputShare = config.CONTEXT_SHARES?.output;
  const known = (model: string): number =>
    fixed ??
    budgetOf(modelServer(config, "chat") || model !== modelNames(config).chat ? facts.forTurn(model) : facts.of(model), {
      longestAnswer,
      outputShare,
    });
  const contextOf = (model: string): number | null => {
    const { context_window: context, sources } = facts.of(model);
    return sources.context_window === "assumed" ? null : context;
  };
  return makePromptLimits({ known, longestAnswer, outputShare, contextOf, learned, counts });
}
