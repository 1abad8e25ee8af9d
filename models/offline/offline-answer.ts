import type { BaseMessage } from "@langchain/core/messages";
import { readFences, type FencedPiece } from "../../text/fence.ts";
import { terms } from "./terms.ts";

const HAN = /\p{Script=Han}/u;

function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?。！？\n])\s*/u)
    .map((sentence) => sentence.trim())
    .filter(Boolean);
}

/** What the user said, as a line of a summary writes it. */
const SUMMARISED = /^- (?:User: |用户：)(.*)$/u;
/** The label of what the user said in an earlier exchange, and of an archived memory. */
const ASKED = /^\[\d{4}-\d\d-\d\d\] (?:User|Noted):$/u;
/** The label of a passage of a document: its number and its title. */
const PASSAGE = /^\[(\d+)\] (.*)$/u;

/** The pieces that memory put into a prompt, by the tag they stand under, and the question behind them. */
function readPrompt(prompt: BaseMessage[]): { question: string; remembered: (tag: string) => FencedPiece[] } {
  const last = readFences(prompt.at(-1)?.text ?? "");
  const system = prompt.slice(0, -1).filter(({ type }) => type === "system");
  const fences = [...system.flatMap(({ text }) => readFences(text).fences), ...last.fences];
  return { question: last.rest, remembered: (wanted) => fences.flatMap(({ tag, pieces }) => (tag === wanted ? pieces : [])) };
}

/** The sentence that shares most terms with the question, the latest of equals; null when none shares any. */
function bestSentence(question: string, texts: string[]): string | null {
  const asked = terms(question);
  let [best, bestScore]: [string | null, number] = [null, 0];
  for (const sentence of texts.flatMap(sentences)) {
    if (/[?？]$/.test(sentence)) continue;
    const score = [...terms(sentence)].filter((term) => asked.has(term)).length;
    if (score > 0 && score >= bestScore) [best, bestScore] = [sentence, score];
  }
  return best;
}

/** What the prompt says about the question: of documents with the number of the passage, else of the user's words, else of core memory. */
function findAnswer(prompt: BaseMessage[]): { isChinese: boolean; found: string } {
  const { question, remembered } = readPrompt(prompt);
  const isChinese = HAN.test(question);
  const passages = remembered("passages");
  const passage = bestSentence(question, passages.map(({ text }) => text).reverse()); // of equals the first: passages are in order
  if (passage !== null) {
    const [, number, title] = PASSAGE.exec(passages.find(({ text }) => text.includes(passage))?.label ?? "") ?? [];
    return { isChinese, found: isChinese ? `《${title}》中写道：“${passage}” [${number}]` : `"${title}" says: "${passage}" [${number}]` };
  }
  const summary = remembered("conversation_summary").flatMap(({ text }) => text.split("\n"));
  const said = bestSentence(question, [
    ...summary.flatMap((line) => SUMMARISED.exec(line)?.[1] ?? []),
    ...remembered("earlier_exchanges").flatMap(({ label = "", text }) => (ASKED.test(label) ? [text] : [])),
    ...prompt.slice(0, -1).flatMap(({ type, text }) => (type === "human" ? [text] : [])),
  ]);
  if (said !== null) return { isChinese, found: isChinese ? `你之前说过：“${said}”` : `You said earlier: "${said}"` };
  const known = bestSentence(
    question,
    remembered("core_memory").map(({ text }) => text),
  );
  if (known !== null) return { isChinese, found: isChinese ? `关于你，我知道：“${known}”` : `What I know about you: "${known}"` };
  return { isChinese, found: isChinese ? "在我收到的内容里没有找到与此有关的话。" : "I found nothing about this in what I was given." };
}

/**
 * The offline model's answer to a prompt: says that it is the offline model and quotes the sentence that fits the last message best, in
 * Chinese when that has Chinese characters. The same prompt gives the same answer.
 */
export function offlineAnswer(prompt: BaseMessage[]): string {
  const { isChinese, found } = findAnswer(prompt);
  if (isChinese)
    return `我是离线模型，只能根据收到的内容回答。${found}要得到真正的回答，请设置 OPENAI_API_KEY 或 OPENAI_BASE_URL（offline model）。`;
  return `This is the offline model: it answers only from what it is given. ${found} For real answers set OPENAI_API_KEY or OPENAI_BASE_URL.`;
}
