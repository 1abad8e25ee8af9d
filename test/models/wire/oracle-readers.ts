import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { extractReasoningMiddleware, streamText, tool, wrapLanguageModel } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import type { Dialect, Read } from "./dialect.ts";

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** What another client makes of the same bytes. `fails`: it reports an error. */
export type OtherRead = Pick<Read, "text" | "thoughts" | "calls"> & { fails: boolean };
export type OtherReader = (baseURL: string, dialect: Dialect) => Promise<OtherRead>;

/** A reader that waits for the end of a connection that stays open has failed. */
const mostMs = ({ staysOpen }: Dialect): number => (staysOpen ? 300 : 60_000);

const known = tool({ description: "A tool", inputSchema: z.looseObject({}), execute: () => "done" });

/** The AI SDK, which takes thoughts out of the content between the tags that it is told. */
const readWithAi: OtherReader = async (baseURL, dialect) => {
  const [opening, closing] = dialect.tags ?? ["<think>", "</think>"];
  const tagName = { opening: opening === "" ? "<think>" : opening, closing };
  const middleware = extractReasoningMiddleware({ tagName, startWithReasoning: opening === "" });
  const model = wrapLanguageModel({ model: createOpenAICompatible({ name: "other", baseURL, includeUsage: true })("m"), middleware });
  const read: OtherRead = { text: "", thoughts: "", calls: [], fails: false };
  const { stream } = streamText({
    ...{ model, prompt: "Hello!", maxRetries: 0, tools: { add: known, look_up: known }, abortSignal: AbortSignal.timeout(mostMs(dialect)) },
    onError: () => undefined,
  });
  try {
    for await (const part of stream) {
      if (part.type === "text-delta") read.text += part.text;
      else if (part.type === "reasoning-delta") read.thoughts += part.text;
      else if (part.type === "tool-call") read.calls.push({ name: part.toolName, arguments: part.input });
      else if (part.type === "error" || part.type === "abort") read.fails = true;
    }
  } catch {
    read.fails = true;
  }
  return read;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return text;
  }
};

interface JoinedCall {
  name?: string;
  arguments?: string;
}

/** OpenAI's own client, which joins the frames itself; it knows no thoughts, so they are read from the fields that its readers use. */
const readWithOpenAi: OtherReader = async (baseURL, dialect) => {
  const client = new OpenAI({ baseURL, apiKey: "a key", maxRetries: 0, logLevel: "off" });
  const stream = client.chat.completions.stream(
    { model: "m", messages: [{ role: "user", content: "Hello!" }] },
    { signal: AbortSignal.timeout(mostMs(dialect)) },
  );
  let thoughts = "";
  let joined: Parameters<Parameters<typeof stream.on<"chunk">>[1]>[1] | undefined;
  stream.on("chunk", ({ choices }, snapshot) => {
    joined = snapshot;
    const { reasoning_content, reasoning } = (choices?.[0]?.delta ?? {}) as { reasoning_content?: unknown; reasoning?: unknown };
    const thought = reasoning_content ?? reasoning;
    if (typeof thought === "string") thoughts += thought;
  });
  let fails = false;
  await stream.done().catch(() => void (fails = true));
  const message = joined?.choices[0]?.message;
  const asked = message?.tool_calls?.map((call) => (call as { function?: JoinedCall }).function) ?? [message?.function_call];
  const calls = asked.flatMap((call: JoinedCall | undefined) =>
    call ? [{ name: call.name ?? "", arguments: parsed(call.arguments ?? "") }] : [],
  );
  return { text: typeof message?.content === "string" ? message.content : "", thoughts, calls, fails };
};

export const OTHER_READERS = { ai: readWithAi, openai: readWithOpenAi } as const satisfies Record<string, OtherReader>;
export type ReaderName = keyof typeof OTHER_READERS;
