import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { readFences } from "../../text/fence.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { isQuestion, wordsOf } from "./sentence-worth.ts";

/** What the user said, as a line of a summary writes it. */
const SUMMARISED = /^- (?:User: |用户：)(.*)$/u;
/** The label of what the user said in an earlier exchange, and of an archived memory. */
const ASKED = /^\[\d{4}-\d\d-\d\d\] (?:User|Noted):$/u;
/** The label of a passage of a document: its number and its title. */
const PASSAGE = /^\[(\d+)\] (.*)$/u;

/** The sentence that shares most words with the question, the latest of equals. */
function bestSentence(question: string, texts: string[]): string | null {
  const asked = wordsOf(question);
  let [best, bestScore]: [string | null, number] = [null, 1];
  for (const sentence of texts.flatMap(splitSentences).filter((one) => !isQuestion(one))) {
    const score = [...wordsOf(sentence)].filter((word) => asked.has(word)).length;
    if (score >= bestScore) [best, bestScore] = [sentence, score];
  }
  return best;
}

/** What the prompt says about the question: a passage with its number, else the user's own words, else core memory. */
function findAnswer(prompt: BaseMessage[], isChinese: boolean): string {
  const { rest: question, fences: recalled } = readFences(prompt.at(-1)?.text ?? "");
  const earlier = prompt.slice(0, -1);
  const fences = [...earlier.flatMap(({ type, text }) => (type === "system" ? readFences(text).fences : [])), ...recalled];
  const remembered = (wanted: string) => fences.flatMap(({ tag, pieces }) => (tag === wanted ? pieces : []));

  const passages = remembered("passages");
  const passage = bestSentence(question, passages.map(({ text }) => text).reverse()); // the best passage comes first
  if (passage !== null) {
    const label = passages.find(({ text }) => splitSentences(text).includes(passage))?.label ?? "";
    const [, number, title] = PASSAGE.exec(label) ?? [];
    return isChinese ? `《${title}》中写道：“${passage}” [${number}]` : `"${title}" says: "${passage}" [${number}]`;
  }
  const said = bestSentence(question, [
    ...remembered("conversation_summary").flatMap(({ text }) => text.split("\n").flatMap((line) => SUMMARISED.exec(line)?.[1] ?? [])),
    ...remembered("earlier_exchanges").flatMap(({ label = "", text }) => (ASKED.test(label) ? [text] : [])),
    ...earlier.flatMap(({ type, text }) => (type === "human" ? [text] : [])),
  ]);
  if (said !== null) return isChinese ? `你之前说过：“${said}”` : `You said earlier: "${said}"`;
  const facts = remembered("core_memory").map(({ text }) => text);
  const known = bestSentence(question, facts);
  if (known !== null) return isChinese ? `关于你，我知道：“${known}”` : `What I know about you: "${known}"`;
  return isChinese ? "在我收到的内容里没有找到与此有关的话。" : "I found nothing about this in what I was given.";
}

/** Quotes what fits the last message best, in Chinese when that has Chinese characters. */
export function offlineAnswer(prompt: BaseMessage[]): string {
  const isChinese = /\p{Script=Han}/u.test(readFences(prompt.at(-1)?.text ?? "").rest);
  const found = findAnswer(prompt, isChinese);
  if (isChinese)
    return `我是离线模型，只能根据收到的内容回答。${found}要得到真正的回答，请设置 OPENAI_API_KEY 或 OPENAI_BASE_URL（offline model）。`;
  return `This is the offline model: it answers only from what it is given. ${found} For real answers set OPENAI_API_KEY or OPENAI_BASE_URL.`;
}

/** A word with the space behind it, or one Chinese character. */
const TOKEN = /\p{Script=Han}|[^\p{Script=Han}\s]+\s*|\s+/gu;

/** A chat model without a model: deterministic, in process, answers only from its prompt and says so. */
export class OfflineChatModel extends BaseChatModel {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return "offline";
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const text = offlineAnswer(messages);
    return { generations: [{ text, message: new AIMessage({ content: text, response_metadata: { finish_reason: "stop" } }) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const [text] of offlineAnswer(messages).matchAll(TOKEN)) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      await runManager?.handleLLMNewToken(text);
    }
    yield new ChatGenerationChunk({ text: "", message: new AIMessageChunk(""), generationInfo: { finish_reason: "stop" } });
  }
}
