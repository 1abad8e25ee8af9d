import { splitSentences } from "../../text/split-sentences.ts";
import { isQuestion, sentenceWorth } from "./sentence-worth.ts";
import { estimateTokens } from "../../text/tokens.ts";

const MARK = "…";

/** The sentence itself when it has at most `maxTokens`, else whole words of its beginning and "…"; "" when not even that fits. */
export function shortenSentence(sentence: string, maxTokens: number): string {
  // Four characters are at least one token, so a longer beginning never fits.
  const longest = Math.max(0, Math.floor(maxTokens) * 4);
  if (sentence.length <= longest && estimateTokens(sentence) <= maxTokens) return sentence;
  let [fitting, tooLong] = [0, Math.min(sentence.length, longest) + 1];
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (estimateTokens(sentence.slice(0, middle) + MARK) <= maxTokens) fitting = middle;
    else tooLong = middle;
  }
  // A cut may have left half of a character of two code units.
  const beginning = sentence.slice(0, fitting).replace(/[\uD800-\uDBFF]$/, "");
  const space = beginning.lastIndexOf(" ");
  const kept = (space > beginning.length / 2 ? beginning.slice(0, space) : beginning).replace(/(?<![\s…])[\s…]+$/, "");
  return kept === "" ? "" : kept + MARK;
}

/** One line of a summary: a sentence and who said it; null for a line of a free text. */
export interface SummaryLine {
  speaker: "user" | "assistant" | null;
  sentence: string;
}

const LABELS = {
  english: { user: "- User: ", assistant: "- Assistant: " },
  chinese: { user: "- 用户：", assistant: "- 助手：" },
};
const LINE = /^- (?:(User|用户)|Assistant|助手)(?:: ?|：)(.+)$/u;

/** A line of an earlier summary that names its speaker, in either language; null when the line has another form. */
export function readSummaryLine(line: string): SummaryLine | null {
  const [, user, sentence] = LINE.exec(line) ?? [];
  if (sentence === undefined || sentence.trim() === "") return null;
  return { speaker: user === undefined ? "assistant" : "user", sentence: sentence.trim() };
}

/** The line as it stands in a summary; a sentence without a speaker is given as it is. */
export function writeSummaryLine({ speaker, sentence }: SummaryLine, language: "english" | "chinese"): string {
  return speaker === null ? sentence : LABELS[language][speaker] + sentence;
}

interface Told extends SummaryLine {
  /** It has been in the earlier summary. */
  isOld: boolean;
}

/** A sentence that competes for a place in the summary. */
export interface SummaryCandidate extends Told {
  worth: number;
}

/** Characters of the beginning and of the end of one message that are looked at. */
const HEAD_CHARACTERS = 8_000;
const TAIL_CHARACTERS = 2_000;
/** At most so many characters of an earlier summary are looked at for each token of the new one; its own lines have at most 4. */
const CHARACTERS_PER_TOKEN = 8;
/** Share of the summary that one sentence may have. */
const LONGEST_SENTENCE = 1 / 4;
/** So many of the last questions of the user count as open when the assistant has said nothing since. */
const OPEN_QUESTIONS = 2;

function oldLines(previous: string): Told[] {
  return previous.split("\n").flatMap((line): Told[] => {
    const read = readSummaryLine(line.replace(/[\s\p{Cc}]+/gu, " ").trimEnd());
    if (read) return [{ ...read, isOld: true }];
    return splitSentences(line).map((sentence) => ({ speaker: null, sentence, isOld: true }));
  });
}

function newSentences({ role, content }: { role: "user" | "assistant"; content: string }): Told[] {
  let sentences: string[];
  if (content.length <= HEAD_CHARACTERS + TAIL_CHARACTERS) sentences = splitSentences(content);
  else {
    const [head, tail] = [splitSentences(content.slice(0, HEAD_CHARACTERS)), splitSentences(content.slice(-TAIL_CHARACTERS))];
    // The cut went through the last sentence of the head and the first of the tail.
    sentences = [...head.slice(0, Math.max(1, head.length - 1)), ...tail.slice(1)];
  }
  return sentences.map((sentence) => ({ speaker: role, sentence, isOld: false }));
}

/** Each sentence once, where it was said last; the user's own when the assistant repeats it. */
function withoutDuplicates(told: Told[]): Told[] {
  const bySentence = new Map<string, Told>();
  for (const one of told) {
    const same = bySentence.get(one.sentence);
    if (same?.speaker === "user" && one.speaker !== "user") continue;
    bySentence.delete(one.sentence);
    bySentence.set(one.sentence, { ...one, isOld: one.isOld || (same?.isOld ?? false) });
  }
  return [...bySentence.values()];
}

/** What may stand in the next summary, in chronological order: lines of the earlier one, then sentences of the messages, if worth anything. */
export function summaryCandidates(
  previous: string | null,
  messages: { role: "user" | "assistant"; content: string }[],
  maxTokens: number,
): SummaryCandidate[] {
  const lookedAt = (previous ?? "").slice(0, CHARACTERS_PER_TOKEN * maxTokens + HEAD_CHARACTERS).toWellFormed();
  const told = [...oldLines(lookedAt), ...messages.flatMap(newSentences)];
  const lastAnswer = told.findLastIndex((one) => one.speaker === "assistant");
  const unanswered = told.slice(lastAnswer + 1).filter((one) => one.speaker === "user" && isQuestion(one.sentence));
  const openQuestions = new Set(unanswered.slice(-OPEN_QUESTIONS).map((one) => one.sentence));
  return withoutDuplicates(told)
    .map((one) => ({
      ...one,
      sentence: shortenSentence(one.sentence, maxTokens * LONGEST_SENTENCE),
      worth: sentenceWorth(one.sentence, one.speaker, openQuestions.has(one.sentence)),
    }))
    .filter((candidate) => candidate.worth > 0 && candidate.sentence !== "");
}
