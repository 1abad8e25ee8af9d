import { splitSentences } from "../../text/split-sentences.ts";
import { isQuestion } from "../../text/telling-or-asking.ts";
import { estimateTokens, shortenSentence } from "../../text/tokens.ts";
import { sentenceWorth, wordsOf } from "./sentence-worth.ts";

interface Line {
  /** Null: a line of a free text. */
  speaker: "user" | "assistant" | null;
  sentence: string;
  isOld: boolean;
}

interface Candidate extends Line {
  position: number;
  text: string;
  tokens: number;
  worth: number;
}

type Message = { role: "user" | "assistant"; content: string };

interface ToSummarise {
  previous: string | null;
  messages: Message[];
}

const LABELS = { english: { user: "- User: ", assistant: "- Assistant: " }, chinese: { user: "- 用户：", assistant: "- 助手：" } };
const LINE = /^- (?:(User|用户)|Assistant|助手)(?:: ?|：)(.+)$/u;
/** The beginning and end of a longer text are read. */
const HEAD_CHARACTERS = 8_000;
const TAIL_CHARACTERS = 2_000;
const LONGEST_SENTENCE_SHARE = 1 / 4;
/** The user's last questions are open until the assistant says something. */
const OPEN_QUESTIONS = 2;
/** A sentence whose words all stand in better ones loses this share of its worth. */
const REPETITION_COSTS = 0.5;
/** Longer sentences are worth less, as each displaces several. */
const USUAL_TOKENS = 10;
/** Lines of the earlier summary worth this much get a reserved share of the new one. */
const LASTING_WORTH = 4;
const LASTING_SHARE = 1 / 2;

function oldLines(previous: string): Line[] {
  const read = previous.slice(0, HEAD_CHARACTERS + TAIL_CHARACTERS).toWellFormed();
  return read.split("\n").flatMap((line): Line[] => {
    const [, user, sentence = ""] = LINE.exec(line.replace(/[\s\p{Cc}]+/gu, " ").trimEnd()) ?? [];
    if (sentence.trim() !== "") return [{ speaker: user === undefined ? "assistant" : "user", sentence: sentence.trim(), isOld: true }];
    return splitSentences(line).map((free) => ({ speaker: null, sentence: free, isOld: true }));
  });
}

function newLines({ role, content }: Message): Line[] {
  let sentences = splitSentences(content.slice(0, HEAD_CHARACTERS + TAIL_CHARACTERS));
  if (content.length > HEAD_CHARACTERS + TAIL_CHARACTERS) {
    // The cut goes through the last sentence of the head and the first of the tail.
    const head = splitSentences(content.slice(0, HEAD_CHARACTERS));
    sentences = [...head.slice(0, Math.max(1, head.length - 1)), ...splitSentences(content.slice(-TAIL_CHARACTERS)).slice(1)];
  }
  return sentences.map((sentence) => ({ speaker: role, sentence, isOld: false }));
}

/** Each sentence once, where it was said last; the user's own when the assistant repeats it. */
function withoutDuplicates(lines: Line[]): Line[] {
  const bySentence = new Map<string, Line>();
  for (const line of lines) {
    const same = bySentence.get(line.sentence);
    if (same?.speaker === "user" && line.speaker !== "user") continue;
    bySentence.delete(line.sentence);
    bySentence.set(line.sentence, { ...line, isOld: line.isOld || (same?.isOld ?? false) });
  }
  return [...bySentence.values()];
}

function candidatesOf(lines: Line[], maxTokens: number): Candidate[] {
  const lastAnswer = lines.findLastIndex(({ speaker }) => speaker === "assistant");
  const asked = lines.slice(lastAnswer + 1).filter(({ speaker, sentence }) => speaker === "user" && isQuestion(sentence));
  const open = new Set(asked.slice(-OPEN_QUESTIONS).map(({ sentence }) => sentence));
  const worthy = withoutDuplicates(lines)
    .map((line) => ({ ...line, worth: sentenceWorth(line.sentence, line.speaker, open.has(line.sentence)) }))
    .map((line) => ({ ...line, sentence: shortenSentence(line.sentence, maxTokens * LONGEST_SENTENCE_SHARE) }))
    .filter(({ worth, sentence }) => worth > 0 && sentence !== "");
  const all = worthy.map(({ sentence }) => sentence).join("");
  const [letters, han] = [/\p{L}/gu, /\p{Script=Han}/gu].map((letter) => all.match(letter)?.length ?? 0) as [number, number];
  const labels = LABELS[3 * han > letters ? "chinese" : "english"];
  return worthy.map((line, position) => {
    const text = line.speaker === null ? line.sentence : labels[line.speaker] + line.sentence;
    const tokens = estimateTokens(`${text}\n`);
    return { ...line, position, text, tokens, worth: line.worth * Math.min(1, USUAL_TOKENS / tokens) };
  });
}

const byWorthThenNewest = (one: Candidate, other: Candidate): number => other.worth - one.worth || other.position - one.position;

/** The best first; repeating the words of better ones costs. */
function ranked(candidates: Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates
    .sort(byWorthThenNewest)
    .map((candidate) => {
      const words = wordsOf(candidate.sentence);
      const repeated = [...words].filter((word) => seen.has(word)).length / Math.max(1, words.size);
      words.forEach((word) => seen.add(word));
      return { ...candidate, worth: candidate.worth * (1 - REPETITION_COSTS * repeated ** 2) };
    })
    .sort(byWorthThenNewest);
}

function fitting(candidates: Candidate[], maxTokens: number): Candidate[] {
  let left = maxTokens;
  return candidates.filter(({ tokens }) => {
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}

/** The sentences most worth keeping, from the earlier summary and the messages since, word for word, one a line, in order. */
export function offlineSummary({ previous, messages, maxTokens }: ToSummarise & { maxTokens: number }): string {
  const lines = ranked(candidatesOf([...oldLines(previous ?? ""), ...messages.flatMap(newLines)], maxTokens));
  const lasting = lines.filter(({ isOld, worth }) => isOld && worth >= LASTING_WORTH);
  return fitting([...new Set([...fitting(lasting, maxTokens * LASTING_SHARE), ...lines])], maxTokens)
    .sort((one, other) => one.position - other.position)
    .map(({ text }) => text)
    .join("\n");
}

/** The summary grows with what it covers: docs/decisions/0009. */
const TOKENS_PER_COVERED_MESSAGE = 1.6;
const LEAST_TOKENS = 100;
const MOST_TOKENS = 400;

/** Empty when no sentence says anything. */
export async function summariseOffline({ coveredMessageCount, ...input }: ToSummarise & { coveredMessageCount: number }): Promise<string> {
  const maxTokens = Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, Math.round(TOKENS_PER_COVERED_MESSAGE * coveredMessageCount)));
  return offlineSummary({ ...input, maxTokens });
}
