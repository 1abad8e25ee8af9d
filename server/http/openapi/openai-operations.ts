import { z } from "zod";
import { CompletionBody } from "../../openai/completion-request.ts";
import { Completion, CompletionChunk, OpenAIModel, OpenAIModelList } from "./openai-answers.ts";
import { jsonAnswer, jsonBody, type Operation } from "./operation.ts";
import { MODEL_ERRORS, START_ERRORS } from "./turn-operations.ts";

const common = { tag: "OpenAI's protocol" } as const;

export const OPENAI_OPERATIONS: readonly Operation[] = [
  {
    ...common,
    id: "createCompletion",
    method: "post",
    path: "/v1/chat/completions",
    summary: "One turn, as OpenAI's clients ask for it",
    details:
      "The last message is what the user says; history is the service's own. Requests of a front end for titles, tags and follow-ups are answered and never become memory.",
    headers: ["X-Session-Id", "X-User-Id"],
    body: jsonBody(CompletionBody),
    answers: {
      200: {
        what: "With `stream`, each `data:` line is one chunk; the last one is `[DONE]`.",
        content: { "application/json": Completion, "text/event-stream": CompletionChunk },
      },
    },
    errors: [...START_ERRORS, ...MODEL_ERRORS, "not_found", "turn_cancelled", "turn_superseded"],
  },
  {
    ...common,
    id: "listModels",
    method: "get",
    path: "/v1/models",
    summary: "The service as a model, and one for each knowledge base",
    answers: { 200: jsonAnswer(OpenAIModelList) },
  },
  {
    ...common,
    id: "getModel",
    method: "get",
    path: "/v1/models/*id",
    summary: "One of them",
    params: { id: z.string() },
    answers: { 200: jsonAnswer(OpenAIModel) },
    errors: ["not_found"],
  },
];
