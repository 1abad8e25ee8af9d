import { LINE_BREAK } from "../../text/line-breaks.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { plainValue, readIntroduction, readStatement, type Fact } from "./statements.ts";

/** What a message asks of core memory; `forget` is what shall be forgotten, in the user's words. */
export type Change = { fact: Fact } | { forget: string };

/** Longest message that is read, in characters: a longer one was hardly typed for this conversation. */
const LONGEST = 300;
/** Marks of quotations, code, lists, transcripts and verses. A message that has one is not plainly its writer's own. */
const NOT_TYPED = /["“”„«»「」『』‘<>{}[\]|`*_#/\\~=:：•…()（）^$@🙄🙃—–]|\.\.|--| - |(?:^|\s)'|^[-\d]|^.{0,12}：/u;
/** Words of a text that is worked on, told by others, supposed or not meant. They stop all of the message they stand in. */
const FOREIGN =
  /\b(?:said|says|say|told|tells|wrote|writes|asked|thinks|according|if|unless|pretend|imagine|suppose|maybe|kidding|joke|joking|story|novel|poem|song|lyrics|script|dialogue|scene|game|role-?play|character|translate|translation|rewrite|rephrase|paraphrase|summari[sz]e|proofread|grammar|sentence|paragraph|text|letter|e-?mail|mail|quote|essay|bio|write|compose|draft|dear|regards|sincerely|ignore|instructions|prompt|system|yeah)\b|[说问写诗信梦]|如果|要是|假如|假设|假装|扮演|故事|剧本|作文|歌词|翻译|改写|润色|总结|校对|造句|语法|邮件|玩笑|骗你|呵呵|才怪|可能|也许|忽略|无视|指令|系统|此致|敬礼|尊敬/iu;

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
function readNote(said: string): Change[] {
  const isChinese = said.startsWith("我");
  const value = plainValue(said.replaceAll("，", " "));
  if (value === null || (isChinese ? said.length < 5 : said.split(" ").length < 4)) return [];
  return [{ fact: { topic: "note", holds: "yes", value, isChinese } }];
}

/** What one sentence changes; null when it shows that the message is not about its writer. */
function readSentence(sentence: string, isCasual: boolean): Change[] | null {
  const asks = ASKS.test(sentence);
  const plain = sentence.replace(/[.!?。！？~～ ]{1,9}$/u, "");
  if (!asks && FORGET.test(plain)) return [{ forget: plain.replace(FORGET, "") }];
  const remember = !asks && REMEMBER.test(plain);
  const said = remember ? plain.replace(REMEMBER, "") : plain;
  const clauses = said.split(/^[a-z]/iu.test(said) ? ENGLISH_CLAUSE : CHINESE_CLAUSE).filter((clause) => clause.trim() !== "");
  const stated = asks ? clauses.slice(0, ASKS_FOR_MORE.test(clauses.at(-1) ?? "") ? -1 : 0) : clauses;
  const facts: Fact[] = [];
  const end = stated.findIndex((clause, index) => {
    const read = readStatement(clause, { isCasual, follows: facts.length > 0 }) ?? readIntroduction(stated[index - 1] ?? "", clause);
    facts.push(...(read ?? []));
    return read === null;
  });
  if (remember && end >= 0) return readNote(said);
  const rest = [...stated.slice(end < 0 ? stated.length : end), ...clauses.slice(stated.length)];
  return FOREIGN.test(rest.join(" ")) ? null : facts.map((fact) => ({ fact }));
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
  if (LINE_BREAK.test(text) || NOT_TYPED.test(text) || !text.isWellFormed()) return [];
  const isCasual = !/\p{Lu}/u.test(text.replaceAll(/\bI\b/g, ""));
  const changes = splitSentences(text).map((sentence) => readSentence(sentence, isCasual));
  return changes.every((change) => change !== null) ? changes.flat() : [];
}
