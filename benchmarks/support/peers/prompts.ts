import { type PromptMessage, tokensOfPrompt, tokensOfText } from "../dialogues/count-tokens.ts";
import type { PeerContender } from "./contender.ts";
import type { RecordedRequest } from "./model-process.ts";
import { FIRST_CHINESE, messageOf } from "./script.ts";
import type { Progress } from "../progress.ts";

/** The counted turns. Each asks for something said in turn 2. */
export const LOOKED_AT = [10, 20, 50];
const TOLD_IN_TURN = 2;
const FACTS = [
  {
    begins: 0,
    told: "By the way, the combination of my bicycle lock is K4711.",
    asked: "What is the combination of my bicycle lock?",
    answer: "K4711",
  },
  { begins: FIRST_CHINESE, told: "顺便说一下，我的自行车锁密码是K5822。", asked: "我的自行车锁密码是多少？", answer: "K5822" },
];

export interface PromptFigures {
  name: string;
  promptTokens: Record<number, number[]>;
  holdsFact: Record<number, boolean[]>;
  answerTokensPerTurn: number;
  backgroundTokensPerTurn: number;
}

async function tokensSent(recordedAt: string, sink: { answers: number; background: number }): Promise<PromptMessage[]> {
  const requests = (await (await fetch(recordedAt)).json()) as RecordedRequest[];
  let last: PromptMessage[] = [];
  for (const { isAnswer, messages, tools } of requests) {
    const tokens = tokensOfPrompt(messages) + (tools === "" ? 0 : tokensOfText(tools));
    if (isAnswer) [sink.answers, last] = [sink.answers + tokens, messages];
    else sink.background += tokens;
  }
  return last;
}

/** Plays two conversations of `count` turns and counts what the model was sent. */
export async function measurePrompts(
  contender: PeerContender,
  modelUrl: string,
  count: number,
  progress: Progress,
): Promise<PromptFigures> {
  const { name } = contender;
  const sent = { answers: 0, background: 0 };
  const promptTokens: Record<number, number[]> = {};
  const holdsFact: Record<number, boolean[]> = {};
  for (const [index, { begins, told, asked, answer }] of FACTS.entries()) {
    const thread = { userId: `reader-${index}`, sessionId: `prompts-${index}` };
    for (let turn = 1; turn <= count; turn++) {
      progress.step(`prompts, ${name}`, index * count + turn, FACTS.length * count);
      const added = turn === TOLD_IN_TURN ? told : LOOKED_AT.includes(turn) ? asked : "";
      await fetch(`${modelUrl}/record`, { method: "POST" });
      await contender.turn(thread, messageOf(begins + turn, added));
      await contender.memory?.settle(thread);
      const prompt = await tokensSent(`${modelUrl}/recorded`, sent);
      if (!LOOKED_AT.includes(turn)) continue;
      (promptTokens[turn] ??= []).push(tokensOfPrompt(prompt));
      (holdsFact[turn] ??= []).push(prompt.some(({ content }) => content.includes(answer)));
    }
  }
  const turns = FACTS.length * count;
  return { name, promptTokens, holdsFact, answerTokensPerTurn: sent.answers / turns, backgroundTokensPerTurn: sent.background / turns };
}
