import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { findWrongArguments } from "../../agents/run-tool-call.ts";
import { offeredTool } from "../../agents/tool.ts";
import { calculate } from "../../agents/tools/calculate.ts";
import type { AppError } from "../../errors/app-error.ts";
import type { AnswerTimeouts } from "../../turn/deadlines.ts";
import type { Embedder } from "../../models/embedder.ts";
import { formedAnswer } from "../../models/formed-answer.ts";
import { picturedMessage } from "../../models/wire/pictured-message.ts";
import { type AnswerRequest, type ModelAnswer, streamAnswer } from "../../models/stream-answer.ts";
import type { ModelPurpose, Observer } from "../../observe/observer.ts";
import { parseArguments } from "../../text/tool-arguments.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import type { Picture } from "../../turn/picture.ts";

/** `purpose`: whose settings a failure is about. */
export interface TriedModel {
  model: BaseChatModel;
  purpose: ModelPurpose;
  timeouts: AnswerTimeouts;
  observer: Observer;
  signal: AbortSignal;
}

/** The result of an attempt; null: nothing can be said. */
export interface Outcome {
  ok: boolean | null;
  note: string | null;
}

const MOST_TOKENS = 400;
/** The most tokens of a model that thinks before it answers. */
const MOST_TOKENS_WITH_THOUGHTS = 1_200;

function requestTo(
  { model, purpose, timeouts, observer, signal }: TriedModel,
  prompt: BaseMessage[],
  modelOptions: ModelOptions,
): AnswerRequest {
  return {
    ...{ model, prompt, timeouts, signal, watched: { observer, purpose }, patience: "none", modelOptions },
    onToken: () => undefined,
  };
}

const fails = ({ error, cut }: ModelAnswer): Outcome | null => {
  if (error?.code === "model_out_of_tokens") return { ok: null, note: error.message };
  if (error) return { ok: false, note: error.message };
  return cut === null ? null : { ok: null, note: "Its answer was cut off before it could be checked." };
};

/** The model's short answer. Times are milliseconds from the question; null: none came. */
export interface TriedText {
  answer: ModelAnswer;
  firstMs: number | null;
  thoughtMs: number | null;
  /** It needs room for thoughts, shown or not. */
  thinks: boolean;
}

async function askForWord(tried: TriedModel, mostTokens: number): Promise<TriedText> {
  const began = performance.now();
  let firstMs: number | null = null;
  let thoughtMs: number | null = null;
  const answer = await streamAnswer({
    ...requestTo(tried, [new HumanMessage("Answer with the word: yes")], { max_tokens: mostTokens }),
    onToken: () => void (firstMs ??= performance.now() - began),
    onThought(thought) {
      firstMs ??= performance.now() - began;
      if (thought.trim() !== "") thoughtMs ??= performance.now() - began;
    },
  });
  return { answer, firstMs, thoughtMs, thinks: thoughtMs !== null };
}

/** Asks for one word, with room for thoughts when they take all there is. */
export async function tryText(tried: TriedModel): Promise<TriedText> {
  const first = await askForWord(tried, MOST_TOKENS);
  if (first.answer.error?.code !== "model_out_of_tokens") return first;
  return { ...(await askForWord(tried, MOST_TOKENS_WITH_THOUGHTS)), thinks: true };
}

/** The error of a text; null when it answered, if only with a thought. */
export const textError = ({ answer: { error }, firstMs }: TriedText): AppError | null =>
  error?.code === "model_out_of_tokens" && firstMs !== null ? null : error;

/** An attempt besides a text. `thinks`: its answers begin with a thought. */
export type Attempt = (tried: TriedModel, parts: { thinks: boolean; learnt: () => ReadonlySet<string> }) => Promise<Outcome>;

const boundOf = (thinks: boolean): ModelOptions => ({ max_tokens: thinks ? MOST_TOKENS_WITH_THOUGHTS : MOST_TOKENS });

const tryCall: Attempt = async (tried, { thinks }) => {
  const prompt = [new HumanMessage("What is 1234 * 5678? Use the tool.")];
  const request = requestTo(tried, prompt, { ...boundOf(thinks), tool_choice: "required" });
  const answer = await streamAnswer({ ...request, tools: [offeredTool(calculate)], mayBeEmpty: true });
  const failed = fails(answer);
  if (failed) return failed;
  const [call] = answer.toolCalls;
  if (!call) return { ok: false, note: "It answered without a call." };
  if (call.name !== calculate.name) return { ok: false, note: `It called "${call.name.slice(0, 100)}", which it was not offered.` };
  const given = parseArguments(call.arguments);
  const wrong = given === null ? "they are no JSON object" : await findWrongArguments(calculate.tool, given);
  return wrong === null ? { ok: true, note: null } : { ok: false, note: `The arguments of its call are wrong: ${wrong}.` };
};

/** The question does not ask for JSON: an answer that fits at once comes from the schema. */
const tryForm: Attempt = async (tried, { thinks, learnt }) => {
  const properties = { country: { type: "string" }, population_in_millions: { type: "number" } };
  const schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
  const response_format = { type: "json_schema" as const, json_schema: { name: "country", strict: true, schema } };
  let calls = 0;
  const { observer } = tried;
  const counting: Observer = {
    ...observer,
    watch(work, run) {
      if (work.work === "model_call") calls++;
      return observer.watch(work, run);
    },
  };
  const prompt = [new HumanMessage("Which country has Lisbon as its capital, and how many people live there?")];
  const answer = await formedAnswer(
    requestTo({ ...tried, observer: counting }, prompt, { ...boundOf(thinks), response_format, stream: false }),
  );
  if (answer.error?.code === "model_malformed") return { ok: false, note: "Its answer did not fit, nor did a second one." };
  const failed = fails(answer);
  if (failed) return failed;
  if (calls > 1) return { ok: true, note: "It was put right: the model was asked again, in words." };
  return {
    ok: true,
    note: learnt().has("no_json_schema") ? "Its server takes no schema; it is asked for in words." : "It fitted at once.",
  };
};

/** A PNG of 64 by 64 pixels: some models refuse one of fewer than 28. */
const RED_SQUARE: Picture = {
  url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAeUlEQVR4nO3PQQkAMAzAwIqof2UTMxF7HINABFzm7H7dcEEDWtCAFjSgBQ1oQQNa0IAWNKAFDWhBA1rQgBY0oAUNaEEDWtCAFjSgBQ1oQQNa0IAWNKAFDWhBA1rQgBY0oAUNaEEDWtCAFjSgBQ1oQQNa0IAWNKAFj12qxUDxeFqrFAAAAABJRU5ErkJggg==",
  detail: null,
  file: null,
};

const tryPicture: Attempt = async (tried, { thinks }) => {
  const message = picturedMessage("Which colour is this picture? Answer with one English word.", [RED_SQUARE], { tokens: 100 });
  const answer = await streamAnswer(requestTo(tried, [message], boundOf(thinks)));
  if (answer.error?.code === "model_cannot_see") return { ok: false, note: "It takes no pictures." };
  const failed = fails(answer);
  if (failed) return failed;
  return /\b(?:red|crimson|scarlet)\b/i.test(answer.text)
    ? { ok: true, note: null }
    : { ok: false, note: "It was sent a red square and did not name the colour. It may not see." };
};

export const ATTEMPTS = { call: tryCall, form: tryForm, picture: tryPicture } as const satisfies Record<string, Attempt>;

/** Embeds two texts. Throws AppError, or the signal's reason. */
export async function tryEmbedding(embedder: Embedder, signal: AbortSignal): Promise<Outcome> {
  const vectors = await embedder.embedPassages(["A cat sleeps.", "一只猫在睡觉。"], signal);
  return { ok: vectors.length === 2, note: `A vector has ${embedder.dimensions} numbers.` };
}
