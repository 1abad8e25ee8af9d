import { HumanMessage } from "@langchain/core/messages";
import type { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { parseArguments } from "../../../text/tool-arguments.ts";
import { PATIENT } from "../../support/services/use-model-server.ts";
import type { Read } from "./dialect.ts";

/** What the service understands of a model's answer. `streamed`: the tokens as they came. */
export async function askModel(model: ReturnType<typeof createOpenAIChatModel>): Promise<Read & { streamed: string; ids: string[] }> {
  let streamed = "";
  let thoughts = "";
  const { text, toolCalls, cut, error, usage } = await streamAnswer({
    ...{ model, prompt: [new HumanMessage("Hello!")], timeouts: PATIENT, patience: "none" },
    onToken: (token) => void (streamed += token),
    onThought: (thought) => void (thoughts += thought),
  });
  const calls = toolCalls.map((call) => ({ name: call.name, arguments: parseArguments(call.arguments) }));
  const counted = usage ? { input: usage.input_tokens, output: usage.output_tokens } : null;
  return {
    text,
    thoughts: thoughts.trim(),
    calls,
    cut,
    error: error?.code ?? null,
    usage: counted,
    streamed,
    ids: toolCalls.map(({ id }) => id),
  };
}
