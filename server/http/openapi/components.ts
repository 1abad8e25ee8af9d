import type { z } from "zod";
import { Layer, Receipt, RouteDecision, TurnError, Usage } from "../../../turn/state.ts";
import { ChatRequest } from "../../turns/chat-request.ts";
import { CompletionBody } from "../../openai/completion-request.ts";
import { ImportRequest } from "../../conversations/import-routes.ts";
import * as answers from "./answers.ts";
import * as openAIAnswers from "./openai-answers.ts";
import { CancelledTurn, ImportEvent, ImportResult, Turn, TurnEvent, TurnResult } from "./turn-answers.ts";
import { GROUPS } from "./operations.ts";

/** The schemas that have names in the description, which generated clients take over: those of bodies as they validate, and of answers. */
export const COMPONENTS: Readonly<Record<string, z.ZodType>> = {
  ChatRequest,
  CompletionBody,
  ImportRequest,
  Layer,
  Receipt,
  RouteDecision,
  TurnError,
  Usage,
  Turn,
  CancelledTurn,
  TurnEvent,
  TurnResult,
  ImportEvent,
  ImportResult,
  ...answers,
  ...openAIAnswers,
  ...(Object.assign({}, ...GROUPS.map(({ schemas }) => schemas)) as Record<string, z.ZodType>),
};
