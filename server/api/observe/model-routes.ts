import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Router } from "express";
import { z } from "zod";
import { FactSource, ModelPrices } from "../../../models/facts/model-facts.ts";
import { AppError } from "../../../errors/app-error.ts";
import { firstChoice } from "../../../models/model-choice.ts";
import { requireOperator } from "../../auth/caller.ts";
import type { ModelFactsSource } from "../../../models/facts/model-facts.ts";
import type { Observing } from "../../observe/open-observing.ts";
import type { Config } from "../../settings/config.ts";
import type { Models } from "../../parts/open-models.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../../http/operation.ts";
import { parseRequest } from "../../http/parse-request.ts";
import { modelNames } from "../../parts/open-models.ts";
import { LearnedLesson, lessonsOf, servedBy, servedEmbedding, servedUnder, type Use, useOf, USES } from "../../models/learned-lessons.ts";
import { TestedModel, testModel, type TestModelParts } from "../../models/probe-model.ts";

const Model = z.object({
  name: z.string(),
  uses: z.array(z.enum(USES)),
  choosable: z.boolean().describe("Callers and agents may name it as `model`: it is in MODELS."),
  context_window: z.int().describe("In tokens, for prompt and answer."),
  max_output_tokens: z.int().nullable(),
  prices: ModelPrices.nullable().describe("In US dollars for a million tokens."),
  capabilities: z.array(z.string()).nullable(),
  sources: z
    .object({
      context_window: FactSource,
      max_output_tokens: FactSource.optional(),
      prices: FactSource.optional(),
      capabilities: FactSource.optional(),
    })
    .describe(
      "Who says so: the server when it refused a longer prompt (`refusal`), MODEL_PROFILES (`file`), the model's `server`, LangChain's `profile`, or nobody (`assumed`).",
    ),
  learned: z.array(LearnedLesson).describe("What refusals of its server have taught; kept for a week."),
});
const ModelList = z.object({
  models: z.array(Model),
  embedding: z
    .object({ model: z.string(), learned: z.array(LearnedLesson) })
    .nullable()
    .describe("Null: embeddings are built in."),
});
const TestBody = z.strictObject({
  model: z.string().max(200).optional().describe("A name of `GET /api/v1/models`. Default: the one that answers."),
});

export const modelOperations = operationGroup({
  tag: "service",
  schemas: { LearnedLesson, ModelList, TestBody, TestedModel },
  routes: {
    describeModels: route("GET /api/v1/models", "The models in use, and what is known of each", { answer: ModelList }),
    testModel: route("POST /api/v1/models/test", "Tries whether a model answers, and what it can: for a key of scope admin", {
      body: jsonBody(TestBody),
      bodyIsOptional: true,
      answer: TestedModel,
    }),
  },
});

/** The model of a name and its use, or null. */
function findTried(
  { config, models }: { config: Config; models: Models },
  name: string | undefined,
): Pick<TestModelParts, "name" | "model" | "purpose"> | null {
  const { choose, listed } = models;
  const use = name === undefined ? "chat" : useOf(config, name);
  if (name === undefined || use === "chat" || listed.includes(name))
    return { ...firstChoice(choose({ model: name ?? null, agent: null })), purpose: "task" };
  const model = use && models[use];
  return model ? { name, model, purpose: use } : null;
}

/** The embedder, when this model's server embeds too; else why it is not tried. */
function findEmbedding(
  { config, models, memory }: { config: Config; models: Models; memory: Memory },
  model: BaseChatModel | null,
): TestModelParts["embedding"] {
  const served = servedEmbedding(config, models);
  if (!served) return "Embeddings are built in.";
  if (!memory.episodes) return "Episodic memory is off.";
  if (model && servedBy(model)?.server !== served.server) return "Another server embeds.";
  return { embedder: memory.episodes.memory.embedder, served };
}

export function modelRoutes(parts: {
  config: Config;
  facts: ModelFactsSource;
  models: Models;
  memory: Memory;
  observing: Observing;
}): Router {
  const { config, facts, models, observing } = parts;
  const { dialects, listed, timeouts } = models;
  return makeRouter(modelOperations, {
    async describeModels(_request, response) {
      const uses = Map.groupBy(Object.entries(modelNames(config)), ([, name]) => name);
      const names = new Set([...uses.keys(), ...listed]);
      const described = [...names].map((name) => {
        const { capabilities, ...known } = facts.of(name);
        const used = (uses.get(name) ?? []).map(([use]) => use as Use);
        const learned = lessonsOf(dialects, servedUnder(name, parts));
        return { ...known, uses: used, choosable: listed.includes(name), capabilities: capabilities && [...capabilities], learned };
      });
      const embedding = servedEmbedding(config, models);
      response.json({
        models: described,
        embedding: embedding && { model: embedding.model, learned: lessonsOf(dialects, [embedding]) },
      });
    },
    testModel: [
      requireOperator,
      async (request, response) => {
        const { model: name } = parseRequest(TestBody, request.body ?? {});
        const tried = findTried(parts, name);
        if (!tried)
          throw AppError.invalid([
            { field: "model", problem: `"${name}" is no model of GET /api/v1/models; leave it out to try the one that answers` },
          ]);
        const embedding = findEmbedding(parts, name === undefined ? null : tried.model);
        const signal = abortSignalOnClose(response);
        response.json(await testModel({ ...tried, dialects, embedding, timeouts, observer: observing.observer, signal }));
      },
    ],
  });
}
