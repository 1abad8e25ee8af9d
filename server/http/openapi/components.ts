import type { z } from "zod";
import { Layer, Receipt, RouteDecision, TurnError, Usage } from "../../../turn/state.ts";
import { ChatRequest } from "../../turns/chat-request.ts";
import { RevertBody, SectionBody } from "../../memory/core-memory-routes.ts";
import { CompletionBody } from "../../openai/completion-request.ts";
import { ImportRequest } from "../../conversations/import-routes.ts";
import { RetryBody } from "../../memory/job-routes.ts";
import { DocumentBody, KnowledgeBody } from "../../knowledge/knowledge-routes.ts";
import * as answers from "./answers.ts";
import { EraseAnswer, ErasureAnswer } from "./erase-answers.ts";
import * as openAIAnswers from "./openai-answers.ts";
import { CancelledTurn, ImportEvent, ImportResult, Turn, TurnEvent, TurnResult } from "./turn-answers.ts";

/** The schemas that have names in the description, which generated clients take over: those of bodies as they validate, and of answers. */
export const COMPONENTS: Readonly<Record<string, z.ZodType>> = {
  ChatRequest,
  CompletionBody,
  ImportRequest,
  SectionBody,
  RevertBody,
  RetryBody,
  KnowledgeBody,
  DocumentBody,
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
  EraseAnswer,
  ErasureAnswer,
  ...answers,
  ...openAIAnswers,
};
