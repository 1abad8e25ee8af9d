import { isSmallTalk } from "../../text/small-talk.ts";
import { ANYONES_CUES, USER_CUES, type SummaryCue } from "./summary-cues.ts";

const EVERY_CUE = [...USER_CUES, ...ANYONES_CUES];
/** A question without these words asks about something or someone else: "Do you like tea?" is no preference of the user. */
const OF_THE_USER = /我|\b(?:i|my|we|our)\b/i;
const HAN = /\p{Script=Han}/u;
const QUESTION = /[?？]["'”’)）\]】」』*_]*$/u;
/** The beginning of a sentence that only asks; other questions also tell something ("I move in May, any advice?"). */
const ONLY_ASKS =
  /^\W*(?:(?:and|but|so|ok|okay|well|also|oh|hey|hi|wow) ?,? )?(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|can|could|will|would|should|shall|may|have|has|any|got)\b/i;
/** Each further cue of a sentence counts this share of the one before. */
const FURTHER_CUE = 0.6;
const BASE = 0.5;
const OPEN_QUESTION = 6;
const ASSISTANT_SHARE = 0.35;
const QUESTION_SHARE = 0.3;

/** True when the sentence ends with a question mark of either script. */
export function isQuestion(sentence: string): boolean {
  return QUESTION.test(sentence);
}

function weightOf(cues: SummaryCue[], sentence: string, base: number): number {
  const weights = cues.filter(([, words]) => words.test(sentence)).map(([weight]) => weight);
  weights.sort((one, other) => other - one);
  return weights.reduceRight((sum, weight) => weight + sum * FURTHER_CUE, base);
}

/**
 * How much a sentence is worth keeping in a summary: 0 is nothing, an ordinary statement of the user 0.5, a name, home, allergy, code,
 * date or decision much more. Speaker null is a line of an earlier summary that names none.
 */
export function sentenceWorth(sentence: string, speaker: "user" | "assistant" | null, isOpenQuestion = false): number {
  if (isSmallTalk(sentence)) return 0;
  if (speaker === "assistant") return weightOf(ANYONES_CUES, sentence, 0) * (isQuestion(sentence) ? QUESTION_SHARE : 1) * ASSISTANT_SHARE;
  const onlyAsks = speaker === "user" && isQuestion(sentence) && (ONLY_ASKS.test(sentence) || HAN.test(sentence));
  const worth = weightOf(onlyAsks && !OF_THE_USER.test(sentence) ? ANYONES_CUES : EVERY_CUE, sentence, BASE);
  if (isOpenQuestion) return worth * FURTHER_CUE + OPEN_QUESTION;
  return onlyAsks ? worth * QUESTION_SHARE : worth;
}
