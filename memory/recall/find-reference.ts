import { chineseNumber } from "../../text/chinese-times.ts";
import { readIntent } from "../../text/read-intent.ts";

/** What a question points back to: an item of a list (-1 is the last), a thing by its word, or the topic. */
export type Pointer =
  | { to: "item"; position: number }
  /** `wasSaid`: the question itself says that it was: "the director you mentioned". */
  | { to: "thing"; word: string; wasSaid: boolean }
  | { to: "topic" };

/** Longer messages name their topic themselves. */
const LONGEST = 160;
const MOST_WORDS = { said: 14, thing: 10, topic: 10 };
const HAN = /\p{Script=Han}/u;
const NUMBERS = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");
const COUNTS = "one two three four five".split(" ");
const FIRST = /^(?:former|前者|最先|一开始|前面那|first)$/i;

const PRONOUN = /\b(?<pronoun>he|him|his|she|hers?|they|them|theirs?|it|its|there)\b/i;
const ANTECEDENT =
  /(?:\b(?:[Mm]y|[Oo]ur|[Yy]our|[Tt]he|[Aa]n?|[Tt]his|[Tt]hat|[Hh]is|[Hh]er|[Tt]heir|[Ss]ome|[Aa]ny|[Ee]very|[Ww]hich|\w+['’]s) \w+|(?!^)\b\p{Lu}\p{L}+|^(?:Is|Does|Did|Was|Has|Can|Will|When|Where|How|Why)\S* \p{Lu}\p{L}+)/u;
/** Words around "he" or "she" that name nobody: "any tips for her". */
const NO_PERSON = /\b(?:[Ss]ome|[Aa]ny|[Ee]very|[Ww]hich) \w+/g;
const EMPTY_IT =
  /\b(?:is|was|will|would|does|did|can|could)(?:n['’]t)? it (?:be )?(?:\w+ ){1,3}(?:to|that|if|for)\b|\bit (?:take|cost|mean|matter)s? to\b|\b(?:time|day|date|year|season) (?:is|was) it\b|\b(?:is|was|will|does|did) it (?:be )?(?:rain|snow|cold|hot|warm|sunny|windy|late|early|dark)|\bwhat is it like\b/i;
const THERE_AT_END = /\bthere\s*(?:[?.!,]|$|now|today|again|too|from|by|with|on)/i;
const PLACE =
  /\b(?:in|at|to|from|near|of|the|my|our) (?:\p{Lu}\p{L}+|\w+ (?:shop|store|restaurant|hotel|school|office|house|home|city|town|place|gym|park|country|island|beach))|\b(?:my|our|the) (?:shop|store|restaurant|hotel|school|office|house|city|town|gym|park|island|beach)\b/u;
const THERE_IS =
  /\b(?:is|are|was|were|will|be|been|has|have)(?:n['’]t)? there\b|\bthere(?:['’]s| is| are| was| were| will| has| have| be)\b/i;
const CHINESE_PRONOUN = /(?<![其吉])(?:他们?|她们?|它们?)(?![人国乡日杀妈])|其中|那里|那边|那儿/u;
/** Words before a pronoun that it does not refer to. */
const LEAD_IN =
  /那么?|所以|然后|请问|你(?:觉得|知道|认为|说)|可是|但是|不过|还有|对了|嗯|下次|上次|这次|以后|后来|最近|到底|究竟|平时|今天|明天|什么时候|为什么|怎么|在哪里?|哪里|多少|谁|是|会|能|可以|有没有|跟|和|给|对|关于|住|喜欢|要|想|我|你|告诉|问|送|买|写|见|去|到|过|应该|该|从|把|被|让|现在|还|也|再|，|,| /gu;

function positionOf({ number, end }: Readonly<Record<string, string | undefined>>): number {
  if (end !== undefined) return FIRST.test(end) ? 0 : -1;
  const word = (number ?? "").toLowerCase();
  if (HAN.test(word)) return chineseNumber(word) - 1;
  return /^\d/.test(word) ? Number.parseInt(word) - 1 : Math.max(NUMBERS.indexOf(word), COUNTS.indexOf(word));
}

function pointsByPronoun(question: string): boolean {
  if (HAN.test(question)) {
    const pronoun = CHINESE_PRONOUN.exec(question);
    return pronoun !== null && question.slice(0, pronoun.index).replace(LEAD_IN, "").length <= 1;
  }
  const pronoun = PRONOUN.exec(question);
  if (!pronoun || EMPTY_IT.test(question)) return false;
  const before = question.slice(0, pronoun.index);
  if (/there/i.test(pronoun[0])) return THERE_AT_END.test(question) && !THERE_IS.test(question) && !PLACE.test(before);
  return !ANTECEDENT.test(/^(?:he|him|his|she|hers?)$/i.test(pronoun[0]) ? before.replace(NO_PERSON, "") : before);
}

/** Reads an English or Chinese question; null when it points at nothing said before. */
export function findReference(question: string): Pointer | null {
  const plain = question.normalize("NFKC").replace(/\s+/g, " ").trim();
  const text = HAN.test(plain) ? plain.replaceAll(",", "，") : plain;
  if (text === "" || text.length > LONGEST) return null;
  const asked = text.replace(/[ ?？!！.。]{1,9}$/u, "");
  const words = HAN.test(text) ? 0 : asked.split(" ").length;
  const item = readIntent("item", asked);
  if (item) return { to: "item", position: positionOf(item) };
  const said = words <= MOST_WORDS.said ? readIntent("said", asked) : null;
  const thing = said ?? (words <= MOST_WORDS.thing ? readIntent("thing", asked) : null);
  if (thing)
    return thing["word"] && !/^(?:ones?|things?)$/i.test(thing["word"])
      ? { to: "thing", word: thing["word"], wasSaid: said !== null }
      : { to: "topic" };
  return (words <= MOST_WORDS.topic && readIntent("topic", asked)) || pointsByPronoun(text) ? { to: "topic" } : null;
}
