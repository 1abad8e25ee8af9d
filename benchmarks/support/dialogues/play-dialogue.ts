import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { startTurn } from "../../../graph/start-turn.ts";
import type { ConversationGraph } from "../../../graph/build-graph.ts";
import { waitUntilSettled } from "../../../memory/jobs/wait-until-settled.ts";
import type { JobOverview } from "../../../stores/jobs/job-overview.ts";
import { type PromptMessage, tokensInCommon, tokensOfMessage, tokensOfPrompt } from "./count-tokens.ts";
import type { Dialogue } from "./generate-dialogues.ts";

export interface TurnTokens {
  prompt: number;
  wholeHistory: number;
  inCommon: number;
  summaryVersion: number | null;
}

export interface PlayParts {
  graph: ConversationGraph;
  model: ScriptedChatModel;
  overview: JobOverview;
  onTurn: (finished: number) => void;
  /** Milliseconds for the jobs after one turn. Default 30,000. */
  settleMs?: number;
}

const ROLES: Record<string, string> = { system: "system", human: "user", ai: "assistant" };

const SETTLE_MS = 30_000;

/** Plays a dialogue through the graph with its own answers. Each turn waits for the jobs of the one before. */
export async function playDialogue({ exchanges }: Dialogue, sessionId: string, parts: PlayParts): Promise<TurnTokens[]> {
  const { graph, model, overview, onTurn, settleMs = SETTLE_MS } = parts;
  const turns: TurnTokens[] = [];
  let previous: PromptMessage[] = [];
  let [plainSystem, earlier] = [0, 0];
  for (const [finished, { user, assistant }] of exchanges.entries()) {
    model.answer = assistant;
    const last = await startTurn(graph, { userId: "bench", sessionId, message: user }).ended;
    if (last.status !== "done") throw new Error(`turn ${finished} of ${sessionId} failed: ${JSON.stringify(last.content)}`);
    const { completed, degraded, receipt, conversation_id: conversationId } = last.content;
    if (!completed || degraded.length > 0)
      throw new Error(`turn ${finished} of ${sessionId} is not whole: ${JSON.stringify(last.content)}`);
    const prompt = model.lastPrompt.map((message) => ({ role: ROLES[message.type] ?? message.type, content: message.text }));
    const system = tokensOfMessage(prompt[0] ?? { role: "system", content: "" });
    if (finished === 0) plainSystem = system;
    const current = tokensOfMessage({ role: "user", content: user });
    turns.push({
      prompt: tokensOfPrompt(prompt),
      wholeHistory: plainSystem + earlier + current,
      inCommon: tokensInCommon(previous, prompt),
      summaryVersion: receipt.summary?.version ?? null,
    });
    previous = prompt;
    earlier += current + tokensOfMessage({ role: "assistant", content: assistant });
    const conversation = { tenantId: "default", userId: "bench", conversationId };
    const pending = await waitUntilSettled({ overview, conversation, timeoutMs: settleMs });
    if (pending > 0) throw new Error(`after turn ${finished} of ${sessionId} ${pending} jobs were not done within ${settleMs} ms`);
    onTurn(finished);
  }
  return turns;
}

/** A model without latency: it answers `answer` in one piece and keeps the last prompt. */
export class ScriptedChatModel extends BaseChatModel {
  answer = "";
  lastPrompt: BaseMessage[] = [];

  constructor() {
    super({});
  }

  /** As large as gpt-4o-mini's, so that only a budget of the bench cuts a prompt. */
  override get profile() {
    return { maxInputTokens: 128_000 };
  }

  override _llmType(): string {
    return "scripted";
  }

  override async _generate(prompt: BaseMessage[]): Promise<ChatResult> {
    this.lastPrompt = prompt;
    const message = new AIMessage({ content: this.answer, response_metadata: { finish_reason: "stop" } });
    return { generations: [{ text: this.answer, message }] };
  }

  override async *_streamResponseChunks(prompt: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    this.lastPrompt = prompt;
    yield new ChatGenerationChunk({
      text: this.answer,
      message: new AIMessageChunk(this.answer),
      generationInfo: { finish_reason: "stop" },
    });
  }
}
