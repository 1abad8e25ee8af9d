import type { Router } from "express";
import { z } from "zod";
import { FactSource, ModelPrices } from "../../models/facts/model-facts.ts";
import { AppError } from "../../errors/app-error.ts";
import { firstChoice } from "../../models/model-choice.ts";
import { requireOperator } from "../auth/caller.ts";
import type { AppParts } from "../http/app-parts.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/openapi/operation.ts";
import { parseRequest } from "../http/parse-request.ts";
import { modelNames } from "../start/open-models.ts";
import { TestedModel, testModel } from "./test-model.ts";

const Model = z.object({
  name: z.string(),
  uses: z.array(z.enum(["chat", "router", "summary", "memory"])),
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
});
const ModelList = z.object({ models: z.array(Model) });
const TestBody = z.strictObject({
  model: z.string().max(200).optional().describe("One that callers may choose. Default: the one that answers."),
});

export const modelOperations = operationGroup({
  tag: "service",
  schemas: { ModelList, TestBody, TestedModel },
  routes: {
    describeModels: route("GET /api/v1/models", "The models in use, and what is known of each", { answer: ModelList }),
    testModel: route("POST /api/v1/models/test", "Asks a model for a word, and tells whether it answers: for a key of scope admin", {
      body: jsonBody(TestBody),
      bodyIsOptional: true,
      answer: TestedModel,
    }),
  },
});

export function modelRoutes({ config, facts, models, observing }: AppParts): Router {
  const { listed } = models;
  return makeRouter(modelOperations, {
    async describeModels(_request, response) {
      const uses = Map.groupBy(Object.entries(modelNames(config)), ([, name]) => name);
      const names = new Set([...uses.keys(), ...listed]);
      const described = [...names].map((name) => {
        const { capabilities, ...known } = facts.of(name);
        const used = (uses.get(name) ?? []).map(([use]) => use as z.infer<typeof Model>["uses"][number]);
        return { ...known, uses: used, choosable: listed.includes(name), capabilities: capabilities && [...capabilities] };
      });
      response.json({ models: described });
    },
    testModel: [
      requireOperator,
      async (request, response) => {
        const { model: name } = parseRequest(TestBody, request.body ?? {});
        if (name !== undefined && !listed.includes(name))
          throw AppError.invalid([{ field: "model", problem: `"${name}" is not in MODELS; leave it out to try the model that answers` }]);
        const choice = firstChoice(models.choose({ model: name ?? null, agent: null }));
        const { timeouts } = models;
        response.json(await testModel(choice, { timeouts, observer: observing.observer, signal: abortSignalOnClose(response) }));
      },
    ],
  });
}
