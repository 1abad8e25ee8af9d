import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { AppError } from "../../errors/app-error.ts";
import { makeCircuit } from "../../memory/recall/make-circuit.ts";
import { toModelError } from "../../models/model-error.ts";
import { startDeadline } from "../../models/start-deadline.ts";
import { untilAborted } from "../../models/until-aborted.ts";
import { watchWholeAnswer } from "../../models/watch-model-call.ts";
import { NOBODY, type Observer } from "../../observe/observer.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { GENERAL } from "./decide-route.ts";
import { readRouterAnswer, type RouterAnswer } from "./read-router-answer.ts";
import { routerPrompt, routerTool } from "./router-prompt.ts";

export interface ModelQuestion {
  message: string;
  bases: readonly KnowledgeBase[];
  signal?: AbortSignal | undefined;
}

export type RouteByModel = (question: ModelQuestion) => Promise<RouterAnswer>;

type AnyModel = Pick<BaseChatModel, "stream">;

async function* streamOf(model: AnyModel, prompt: BaseMessage[], signal: AbortSignal): AsyncGenerator<AIMessageChunk, void> {
  yield* await model.stream(prompt, { signal, tags: ["nostream"] }); // Studio would show its words as the answer's
}

async function wholeAnswer(model: AnyModel, prompt: BaseMessage[], signal: AbortSignal): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of untilAborted(streamOf(model, prompt, signal), signal)) whole = whole ? whole.concat(chunk) : chunk;
  // Half an answer would be read as a whole one: LangChain closes the braces of arguments that were cut.
  if (!whole?.response_metadata["finish_reason"])
    throw new AppError("model_incomplete", "The router model ended its answer without saying that it was complete.");
  return whole;
}

/**
 * Asks a model which base a message is for. Throws AppError when it gives no proper answer within `timeoutMs`, or names a base that is
 * not there; one that failed three times in a row is left alone for a while.
 */
export function makeRouteByModel({
  model,
  timeoutMs,
  observer = NOBODY,
}: {
  model: BaseChatModel;
  timeoutMs: number;
  observer?: Observer;
}): RouteByModel {
  const circuit = makeCircuit("router_model", observer);
  return async function routeByModel({ message, bases, signal: cancelled }) {
    const prefixes = [GENERAL, ...bases.map(({ prefix }) => prefix)];
    const bound = model.bindTools ? (model.bindTools([routerTool(prefixes)]) as AnyModel) : model;
    using deadline = startDeadline(timeoutMs, cancelled);
    const { signal } = deadline;
    try {
      const prompt = routerPrompt(message, bases);
      const ask = () => watchWholeAnswer({ observer, purpose: "router" }, model, prompt, () => wholeAnswer(bound, prompt, signal));
      const whole = await circuit(ask, signal);
      const answer = readRouterAnswer(whole, prefixes);
      if (answer) return answer;
    } catch (error) {
      if (cancelled?.aborted) throw cancelled.reason;
      if (!deadline.isOver()) throw toModelError(error, false);
      const words = `The router model gave no answer within ${timeoutMs} ms. Try again, or raise MEMORY_READ_TIMEOUT_MS.`;
      throw new AppError("model_first_token_timeout", words, { cause: error });
    }
    throw new AppError(
      "model_bad_response",
      "The router model's answer is no route to a knowledge base that is there. Check ROUTER_MODEL.",
    );
  };
}
