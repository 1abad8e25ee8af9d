import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { DECISION, OUTCOME, PREFERENCE, REMEMBER, type CueRule } from "./cue-rules.ts";

export type EpisodeType = "preference" | "decision" | "context" | "outcome";

/** design.md, section 4. */
const IMPORTANCE: Readonly<Record<EpisodeType, number>> = { preference: 0.8, decision: 0.9, context: 0.5, outcome: 0.6 };
const SMALL_TALK = 0.1;
const REMEMBERED = 0.15;
/** The user's sentences that are looked at: cues of a long text that was pasted are not the user's own. */
const SENTENCES = 12;
const LONGEST = 400;
const QUESTION =
  /[?？]\s*$|(?:吗|呢|什么|多少|哪[里儿个位些]?)[。！ ]*$|^(?:what|when|where|who|whom|which|how|why|do|does|did|is|are|was|were|can|could|would|will|should|have|has)\b(?!.*[.!]$)/iu;
/** What the assistant may settle or report: not its courtesies. */
const ASSISTANT_DONE =
  /\b(?:i['’]ve|i have) (?:booked|reserved|ordered|cancel?led|scheduled|sent|created)\b|(?:已经?|帮您|为您)(?:预订|预定|预约|下单|取消|安排|发送)/iu;

const says = ({ english, chinese }: CueRule, sentence: string): boolean =>
  english.test(sentence) || (/\p{Script=Han}/u.test(sentence) && chinese.test(sentence));

/** The kind of one statement; a decision to do is said with words of liking too, and so comes before. */
function kindOf(sentence: string): EpisodeType {
  if (says(DECISION, sentence)) return "decision";
  if (says(PREFERENCE, sentence)) return "preference";
  return says(OUTCOME, sentence) ? "outcome" : "context";
}

/**
 * What kind of exchange this is and how much it matters, 0 to 1, by the words of the user in English or Chinese: preference 0.8, decision
 * 0.9, outcome 0.6, context 0.5, small talk 0.1, more when the user asks that it be remembered. Questions state nothing. Either message may be empty: there is none.
 */
export function episodeCues(userMessage: string, assistantMessage: string): { episode_type: EpisodeType; importance: number } {
  const said = splitSentences((userMessage || assistantMessage).slice(0, SENTENCES * LONGEST)).slice(0, SENTENCES);
  if (said.every(isSmallTalk)) return { episode_type: "context", importance: SMALL_TALK };
  const statements = (userMessage === "" ? [] : said)
    .map((sentence) => sentence.slice(0, LONGEST))
    .filter((sentence) => !QUESTION.test(sentence) || says(REMEMBER, sentence));
  const kinds = new Set(statements.map(kindOf));
  const isDone = ASSISTANT_DONE.test(assistantMessage.slice(0, LONGEST));
  const type = (["decision", "preference", "outcome"] as const).find((kind) => kinds.has(kind)) ?? (isDone ? "decision" : "context");
  const asked = statements.some((sentence) => says(REMEMBER, sentence)) ? REMEMBERED : 0;
  return { episode_type: type, importance: Math.min(1, Math.round((IMPORTANCE[type] + asked) * 100) / 100) };
}
