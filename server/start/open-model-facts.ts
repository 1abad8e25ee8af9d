import { readFileSync } from "node:fs";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { makeAskContext } from "../../models/facts/ask-server.ts";
import { type AskContext, makeModelFacts, ModelProfile, type ModelFactsSource } from "../../models/facts/model-facts.ts";
import { budgetOf } from "../../models/facts/prompt-budget.ts";
import type { Config } from "./config.ts";
import { modelNames, modelServer, usesModelServer } from "./open-models.ts";

const Profiles = z.record(z.string(), ModelProfile);

/** Its context is in LangChain's profiles; it has nothing to tell. */
const isOpenAI = (url: string): boolean => new URL(url).hostname === "api.openai.com";

/** Throws AppError `invalid_configuration`. */
export function readModelProfiles(file: string | undefined): z.infer<typeof Profiles> {
  if (file === undefined) return {};
  const invalid = (problem: string, cause?: unknown): AppError =>
    new AppError("invalid_configuration", `MODEL_PROFILES: "${file}" ${problem}`, {
      details: [{ field: "MODEL_PROFILES", problem }],
      cause,
    });
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw invalid(error instanceof SyntaxError ? "is not JSON" : "cannot be read", error);
  }
  const parsed = Profiles.safeParse(content);
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`).join("; "));
}

/** Asks the models' servers in the background, of two models with one name that which answers. `onAssumed` hears of a model that answers and of whose context nobody knows. */
export function openModelFacts(config: Config, onAssumed: (model: string) => void): ModelFactsSource {
  const askers = new Map<string, AskContext>();
  const names = modelNames(config);
  for (const task of ["memory", "summary", "router", "chat"] as const) {
    const server = modelServer(config, task);
    if (server && !isOpenAI(server.url)) askers.set(names[task], makeAskContext(server));
  }
  const ask: AskContext = async (model, signal) => (await askers.get(model)?.(model, signal)) ?? null;
  const facts = makeModelFacts({ profiles: readModelProfiles(config.MODEL_PROFILES), ask, onAssumed });
  for (const name of new Set(Object.values(names))) facts.of(name);
  return facts;
}

/** The most tokens of a prompt, as is known by now. */
export function makePromptLimit(config: Config, facts: ModelFactsSource): () => number {
  const { CONTEXT_TOKEN_BUDGET: fixed, MAX_ANSWER_TOKENS: longestAnswer } = config;
  if (fixed !== undefined) return () => fixed;
  const { chat } = modelNames(config);
  return () => budgetOf(usesModelServer(config) ? facts.forTurn(chat) : facts.of(chat), longestAnswer);
}
