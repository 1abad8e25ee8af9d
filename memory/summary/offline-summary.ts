import { estimateTokens } from "../../models/estimate-tokens.ts";
import { repeatedShares } from "./repeated-words.ts";
import { summaryCandidates, type SummaryCandidate } from "./summary-candidates.ts";
import { writeSummaryLine } from "./summary-line.ts";

/** A sentence all of whose words stand in better ones is worth this share less. */
const REPETITION_COSTS = 0.5;
/** Sentences longer than this are worth less, as each takes the place of several. */
const USUAL_TOKENS = 20;
/** Lines of the earlier summary that are worth this much … */
const LASTING_WORTH = 4;
/** … have this share of the new one to themselves, whatever has been said since. */
const LASTING_SHARE = 1 / 2;

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
export function offlineSummary({
  previous,
  messages,
  maxTokens,
}: {
  previous: string | null;
  messages: { role: "user" | "assistant"; content: string }[];
  maxTokens: number;
}): string {
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
