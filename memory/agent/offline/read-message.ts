import { splitSentences } from "../../../text/split-sentences.ts";
import { plainValue, type Fact } from "./fact.ts";
import { readChinese } from "./read-chinese.ts";
import { readEnglish, readIntroduction } from "./read-english.ts";

/** What a message asks of core memory; `forget` is what shall be forgotten, in the user's words. */
export type Change = { fact: Fact } | { forget: string };

/** Longest message that is read, in characters: a longer one was hardly typed for this conversation. */
const LONGEST = 300;
/** Marks of quotations, code, lists, transcripts and verses. A message that has one is not plainly its writer's own. */
const NOT_TYPED = /["“”„«»「」『』‘<>{}[\]|`*_#/\\~=:：•…()（）^$@🙄🙃—–]|\.\.|--| - |(?:^|\s)'|^[-\d]|^.{0,12}：/u;
/** Words of a text that is worked on, told by others, supposed or not meant. They stop all of the message they stand in. */
const FOREIGN = new Set(
  "said says say told tells wrote writes asked thinks according if unless pretend imagine suppose maybe kidding joke joking story novel poem song lyrics script dialogue scene game role-play roleplay character translate translation rewrite rephrase paraphrase summarize summarise proofread grammar sentence paragraph text letter email e-mail mail quote essay bio write compose draft dear regards sincerely ignore instructions prompt system yeah".split(
    " ",
  ),
);
const FOREIGN_CHINESE =
  /[说问写诗信梦]|如果|要是|假如|假设|假装|扮演|故事|剧本|作文|歌词|翻译|改写|润色|总结|校对|造句|语法|邮件|玩笑|骗你|呵呵|才怪|可能|也许|忽略|无视|指令|系统|此致|敬礼|尊敬/u;

const ENGLISH_CLAUSE =
  /(?:, (?:and |but |so )?| (?:and|but) )(?=(?:i|i'm|my|we|what|which|where|who|how|can|could|would|should|do|is|please|if|she|he|they|just|or)\b)/iu;
const CHINESE_CLAUSE = /[，,；;]/u;
/** A last clause that asks for something and leaves what was said before it as it is, unlike "right?". */
const ASKS_FOR_MORE = /^(?:what|which|where|who|how|can|could|would|should)\b|^(?:什么|怎么|哪|有|能|可以|推荐|请|帮|应该|该)/iu;
const ASKS = /[?？]|[吗呢吧么]$/u;

const REMEMBER =
  /^(?:please )?(?:remember|do not forget|don't forget|keep in mind|note)(?: that)?[:,]? (?=(?:i|i'm|my|we|our)\b)|^(?:请|麻烦)?(?:帮我|你要?)?(?:记住|记一下|别忘了|不要忘记)[：，, ]*(?=我)/iu;
const FORGET =
  /^(?:please )?(?:forget|delete|erase)(?: about)?(?: that)? (?=(?:i|i'm|my|we|our|where|what|everything)\b)|^(?:请|麻烦)?(?:帮我|你)?(?:忘掉|忘了|忘记|删掉|删除)(?=我|关于我|所有|全部)/iu;

/** A note in the user's own words: a sentence about them, not half of one. */
function noteOf(what: string): Change[] {
  const isChinese = /^我/u.test(what);
  const isSentence = isChinese ? what.length >= 5 : what.split(" ").length >= 4;
  const value = isSentence ? plainValue(what.replaceAll("，", " ")) : null;
  return value === null ? [] : [{ fact: { topic: "note", holds: "yes", value, isChinese } }];
}

function clausesOf(sentence: string): string[] {
  return sentence.split(/^[a-z]/iu.test(sentence) ? ENGLISH_CLAUSE : CHINESE_CLAUSE).filter((clause) => clause.trim() !== "");
}

/** The facts of a sentence up to the first clause that is none, and the rest of its clauses. */
function readClauses(clauses: string[], isCasual: boolean): { facts: Fact[]; rest: string[] } {
  const facts: Fact[] = [];
  for (const [index, clause] of clauses.entries()) {
    const before = clauses[index - 1] ?? "";
    const read = readEnglish(clause, isCasual) ?? readIntroduction(before, clause) ?? readChinese(clause, facts.length > 0);
    if (read === null) return { facts, rest: clauses.slice(index) };
    facts.push(...read);
  }
  return { facts, rest: [] };
}

function isForeign(clauses: string[]): boolean {
  const words = clauses.flatMap((clause) => clause.toLowerCase().split(/[\s,.;!?]/u));
  return words.some((word) => FOREIGN.has(word)) || clauses.some((clause) => FOREIGN_CHINESE.test(clause));
}

/** What one sentence changes; null when it shows that the message is not about its writer. */
function readSentence(sentence: string, isCasual: boolean): Change[] | null {
  const asks = ASKS.test(sentence);
  const plain = sentence.replace(/[.!?。！？~～ ]{1,9}$/u, "");
  if (!asks && FORGET.test(plain)) return [{ forget: plain.replace(FORGET, "") }];
  const remember = !asks && REMEMBER.test(plain);
  const said = remember ? plain.replace(REMEMBER, "") : plain;
  const clauses = clausesOf(said);
  const stated = asks ? clauses.slice(0, ASKS_FOR_MORE.test(clauses.at(-1) ?? "") ? -1 : 0) : clauses;
  const { facts, rest } = readClauses(stated, isCasual);
  if (remember && rest.length > 0) return noteOf(said);
  if (isForeign(asks ? clauses.slice(stated.length) : rest)) return null;
  return facts.map((fact) => ({ fact }));
}

/**
 * What a message changes, by the words of its writer alone. It is read when it is plainly their own: one line, short, without marks of a
 * text that came from elsewhere.
 */
export function readMessage(message: string): Change[] {
  if (message.length > LONGEST) return [];
  const text = message
    .trim()
    .replaceAll("’", "'")
    .replace(/^(?:请?记住|remember|note)[:：]/iu, (word) => word.slice(0, -1));
  if (/[\n\r\u2028\u2029\u0085]/u.test(text) || NOT_TYPED.test(text) || !text.isWellFormed()) return [];
  const isCasual = !/\p{Lu}/u.test(text.replaceAll(/\bI\b/g, ""));
  const changes = splitSentences(text).map((sentence) => readSentence(sentence, isCasual));
  return changes.every((change) => change !== null) ? changes.flat() : [];
}
