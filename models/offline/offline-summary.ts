import { estimateTokens } from "../../text/tokens.ts";
import { terms } from "./terms.ts";
import { type SummaryCandidate, summaryCandidates, writeSummaryLine } from "./summary-candidates.ts";

/** For each sentence the share of its words, from 0 to 1, that an earlier one of the list has already. */
export function repeatedShares(sentences: string[]): number[] {
  const seen = new Set<string>();
  return sentences.map((sentence) => {
    const own = terms(sentence);
    let repeated = 0;
    for (const word of own) if (seen.has(word)) repeated++;
    for (const word of own) seen.add(word);
    return own.size === 0 ? 0 : repeated / own.size;
  });
}

/** A sentence all of whose words stand in better ones is worth this share less. */
const REPETITION_COSTS = 0.5;
/** Sentences longer than this are worth less, as each takes the place of several. */
const USUAL_TOKENS = 20;
/** From this worth on, a line of the earlier summary has reserved room. */
const LASTING_WORTH = 4;
/** Share of the new summary that is reserved for such lines. */
const LASTING_SHARE = 1 / 2;

interface SummaryInput {
  /** The summary before; null for the first. */
  previous: string | null;
  messages: { role: "user" | "assistant"; content: string }[];
  maxTokens: number;
}

interface Line extends SummaryCandidate {
  position: number;
  text: string;
  tokens: number;
}

function languageOf(candidates: SummaryCandidate[]): "english" | "chinese" {
  let [han, otherLetters] = [0, 0];
  for (const { sentence } of candidates) {
    const ownHan = sentence.match(/\p{Script=Han}/gu)?.length ?? 0;
    han += ownHan;
    otherLetters += (sentence.match(/\p{L}/gu)?.length ?? 0) - ownHan;
  }
  // A word of Chinese is about two characters, one of English about four and a half.
  return han * 2 > otherLetters ? "chinese" : "english";
}

const byWorthThenNewest = (one: Line, other: Line): number => other.worth - one.worth || other.position - one.position;

/** The lines, those to keep first at the front. */
function ranked(lines: Line[]): Line[] {
  const sorted = lines.toSorted(byWorthThenNewest);
  const repeated = repeatedShares(sorted.map((line) => line.sentence));
  return sorted
    .map((line, index) => ({ ...line, worth: line.worth * (1 - REPETITION_COSTS * (repeated[index] ?? 0) ** 2) }))
    .sort(byWorthThenNewest);
}

/** The first lines of the list that fit, and those of the rest for which there is still room. */
function fitting(lines: Line[], maxTokens: number): Line[] {
  let left = maxTokens;
  return lines.filter((line) => {
    if (line.tokens > left) return false;
    left -= line.tokens;
    return true;
  });
}

/**
 * Summary of a conversation without a model: the sentences most worth keeping of the earlier summary and of the messages since, word for
 * word, one a line, in the order they were said, with at most `maxTokens` tokens together. The same input gives the same summary.
 */
export function offlineSummary({ previous, messages, maxTokens }: SummaryInput): string {
  const candidates = summaryCandidates(previous, messages, maxTokens);
  const language = languageOf(candidates);
  const lines = ranked(
    candidates.map((candidate, position) => {
      const text = writeSummaryLine(candidate, language);
      const tokens = estimateTokens(`${text}\n`);
      const worth = candidate.worth * Math.min(1, (USUAL_TOKENS / tokens) ** 0.25);
      return { ...candidate, position, text, tokens, worth };
    }),
  );
  const lasting = fitting(
    lines.filter((line) => line.isOld && line.worth >= LASTING_WORTH),
    maxTokens * LASTING_SHARE,
  );
  const kept = fitting([...new Set([...lasting, ...lines])], maxTokens);
  return kept
    .sort((one, other) => one.position - other.position)
    .map((line) => line.text)
    .join("\n");
}

/** The summary grows with what it stands for, in tokens, so that it saves from the beginning: docs/decisions/0009. */
const TOKENS_PER_COVERED_MESSAGE = 1.6;
const LEAST_TOKENS = 100;
const MOST_TOKENS = 400;

/** The summary without a model: the sentences that say most, word for word. Empty when none says anything. */
export async function summariseOffline({
  previous,
  messages,
  coveredMessageCount,
}: Omit<SummaryInput, "maxTokens"> & { coveredMessageCount: number }): Promise<string> {
  const maxTokens = Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, Math.round(TOKENS_PER_COVERED_MESSAGE * coveredMessageCount)));
  return offlineSummary({ previous, messages, maxTokens });
}
