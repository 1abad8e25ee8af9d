import type { BaseMessage } from "@langchain/core/messages";
import { readFences, type FencedPiece } from "../../text/fence.ts";

const HAN = /\p{Script=Han}/u;
const STOP_WORDS = new Set(
  "a an and are as at be but by can could did do does for from had has have how i in is it its me my of on or our so tell that the their them then there they this to us was we were what when where which who why will with would you your please know".split(
    " ",
  ),
);

/** Words of Latin script without stop words, and pairs of Chinese characters: what two sentences may have in common. */
function terms(text: string): Set<string> {
  const found = new Set<string>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{Script=Latin}\d]+/gu)) if (!STOP_WORDS.has(word)) found.add(word);
  for (const [run] of text.matchAll(/\p{Script=Han}+/gu)) {
    for (let start = 0; start + 1 < run.length; start++) found.add(run.slice(start, start + 2));
  }
  return found;
}

function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?。！？\n])\s*/u)
    .map((sentence) => sentence.trim())
    .filter(Boolean);
}

const isQuestion = (sentence: string): boolean => /[?？]$/.test(sentence);

/** What the user said, as a line of a summary writes it. */
const SUMMARISED = /^- (?:User: |用户：)(.*)$/u;
/** The label of what the user said in an earlier exchange, and of an archived memory. */
const ASKED = /^\[\d{4}-\d\d-\d\d\] (?:User|Noted):$/u;
/** The label of a passage of a document: its number and its title. */
const PASSAGE = /^\[(\d+)\] (.*)$/u;

/** What memory put into a prompt, by the tag it stands under: into the system message, and in front of the last message. */
function remembered(prompt: BaseMessage[], wanted: string): FencedPiece[] {
  return prompt
    .filter((message, position) => message.type === "system" || position === prompt.length - 1)
    .flatMap(({ text }) => readFences(text).fences)
    .flatMap(({ tag, pieces }) => (tag === wanted ? pieces : []));
}

/** The sentence of a document that fits the question best, with the number of its passage; null when none has anything of it. */
function fromDocuments(question: string, prompt: BaseMessage[]): { number: string; title: string; sentence: string } | null {
  const passages = remembered(prompt, "passages");
  const sentence = bestSentence(question, passages.map(({ text }) => text).reverse()); // of equals the first: passages are in order
  const found = passages.find(({ text }) => sentence !== null && text.includes(sentence));
  if (!found || sentence === null) return null;
  const [, number = "", title = ""] = PASSAGE.exec(found.label ?? "") ?? [];
  return { number, title, sentence };
}

/** What the user has said before, as far as it is in the prompt, oldest first: remembered, then word for word. */
function saidBefore(prompt: BaseMessage[]): string[] {
  const lines = remembered(prompt, "conversation_summary").flatMap(({ text }) => text.split("\n"));
  return [
    ...lines.flatMap((line) => SUMMARISED.exec(line)?.[1] ?? []),
    ...remembered(prompt, "earlier_exchanges").flatMap(({ label = "", text }) => (ASKED.test(label) ? [text] : [])),
    ...prompt.slice(0, -1).flatMap((message) => (message.type === "human" ? [message.text] : [])),
  ];
}

/** The sentence said before that shares most terms with the question, the latest of equals; null when none shares any. */
function bestSentence(question: string, earlier: string[]): string | null {
  const asked = terms(question);
  let best: string | null = null;
  let bestScore = 0;
  for (const sentence of earlier.flatMap(sentences)) {
    if (isQuestion(sentence)) continue;
    const score = [...terms(sentence)].filter((term) => asked.has(term)).length;
    if (score > 0 && score >= bestScore) [best, bestScore] = [sentence, score];
  }
  return best;
}

/**
 * The offline model's answer to a prompt: says that it is the offline model and quotes the sentence of the documents, else of the
 * conversation, else of core memory, that fits the last message best. The same prompt gives the same answer, in Chinese when the last message has Chinese characters.
 */
export function offlineAnswer(prompt: BaseMessage[]): string {
  const question = readFences(prompt.at(-1)?.text ?? "").rest;
  const passage = fromDocuments(question, prompt);
  const quote = passage ? null : bestSentence(question, saidBefore(prompt));
  const known =
    passage || quote
      ? null
      : bestSentence(
          question,
          remembered(prompt, "core_memory").map(({ text }) => text),
        );
  if (HAN.test(question)) {
    const found = passage
      ? `《${passage.title}》中写道：“${passage.sentence}” [${passage.number}]`
      : quote
        ? `你之前说过：“${quote}”`
        : known
          ? `关于你，我知道：“${known}”`
          : "在我收到的内容里没有找到与此有关的话。";
    return `我是离线模型，只能根据收到的内容回答。${found}要得到真正的回答，请设置 OPENAI_API_KEY 或 OPENAI_BASE_URL（offline model）。`;
  }
  const found = passage
    ? `"${passage.title}" says: "${passage.sentence}" [${passage.number}]`
    : quote
      ? `You said earlier: "${quote}"`
      : known
        ? `What I know about you: "${known}"`
        : "I found nothing about this in what I was given.";
  return `This is the offline model: it answers only from what it is given. ${found} For real answers set OPENAI_API_KEY or OPENAI_BASE_URL.`;
}
