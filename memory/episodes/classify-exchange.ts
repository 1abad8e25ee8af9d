import { hasIntent } from "../../text/read-intent.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import type { EpisodeType } from "../../turn/state.ts";

const IMPORTANCE_OF_TYPE: Readonly<Record<EpisodeType, number>> = { preference: 0.8, decision: 0.9, context: 0.5, outcome: 0.6 };
const SMALL_TALK_IMPORTANCE = 0.1;
const REMEMBER_BONUS = 0.15;
/** The rest of a long message is often pasted. */
const SENTENCES = 12;
const LONGEST_SENTENCE = 400;
const QUESTION =
  /[?？]\s*$|(?:吗|呢|什么|多少|哪[里儿个位些]?)[。！ ]*$|^(?:what|when|where|who|whom|which|how|why|do|does|did|is|are|was|were|can|could|would|will|should|have|has)\b(?!.*[.!]$)/iu;
const ASSISTANT_DONE =
  /\b(?:i['’]ve|i have) (?:booked|reserved|ordered|cancel?led|scheduled|sent|created)\b|(?:已经?|帮您|为您)(?:预订|预定|预约|下单|取消|安排|发送)/iu;

/** Decisions come first: they often have words of liking. */
function typeOf(sentence: string): EpisodeType {
  if (hasIntent("decision", sentence)) return "decision";
  if (hasIntent("preference", sentence)) return "preference";
  return hasIntent("outcome", sentence) ? "outcome" : "context";
}

/**
 * The kind and importance (0 to 1) of an exchange, by the user's words: decision 0.9, preference 0.8, outcome 0.6, context 0.5, small talk
 * 0.1, more when the user asks to remember it. Questions state nothing. A missing message is "".
 */
export function classifyExchange(userMessage: string, assistantMessage: string): { episode_type: EpisodeType; importance: number } {
  const said = splitSentences((userMessage || assistantMessage).slice(0, SENTENCES * LONGEST_SENTENCE)).slice(0, SENTENCES);
  if (said.every(isSmallTalk)) return { episode_type: "context", importance: SMALL_TALK_IMPORTANCE };
  const statements = (userMessage === "" ? [] : said.filter((sentence) => !isSmallTalk(sentence)))
    .map((sentence) => sentence.slice(0, LONGEST_SENTENCE))
    .filter((sentence) => !QUESTION.test(sentence) || hasIntent("remember", sentence));
  const kinds = new Set(statements.map(typeOf));
  const isDone = ASSISTANT_DONE.test(assistantMessage.slice(0, LONGEST_SENTENCE));
  const type = (["decision", "preference", "outcome"] as const).find((kind) => kinds.has(kind)) ?? (isDone ? "decision" : "context");
  const asked = statements.some((sentence) => hasIntent("remember", sentence)) ? REMEMBER_BONUS : 0;
  return { episode_type: type, importance: Math.min(1, Math.round((IMPORTANCE_OF_TYPE[type] + asked) * 100) / 100) };
}
