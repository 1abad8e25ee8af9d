import { LINE_BREAK, splitSentences } from "../../text/split-sentences.ts";
import { WISHES } from "../../turn/state.ts";
import { type Fact, FORMS, type Intent, negated, NOTE, OTHERWISE } from "./intents.ts";
import { isOf, SMALL_WORDS } from "./value-kinds.ts";

const LEADS =
  /^(?:(?:hi|hello|hey|there|and|but|so|well|also|oh|ok|okay|actually|anyway|sorry|no|wait|correction|by the way|just so you know|turns out|i (?:was wrong|changed (?:my mind|jobs)|meant?)|(?:that was )?wrong|yesterday|last (?:week|month|year))(?:[ ,:]+|$))*/i;
const CHINESE_LEADS =
  /^(?:你好|您好|大家好|嗨|对了|其实|另外|还有|而且|抱歉|不好意思|但是?|不过|然后|那个|嗯|不对|(?:我?[说搞])?错了|更正一下|我改主意了|我?换(?:了?个)?(?:工作|方案)了?|不是$|把(?=我的)|比起\p{Script=Han}{1,6}(?=我))*/u;
/** What follows a value. */
const END =
  /(?:, without .{1,30}|,? (?:now|too|as well|again|instead|a lot|very much|so much|these days|lately|recently|at the moment|by the way|for work|as of .{1,20}|with my .{1,30}|any ?more|any longer|(?:last|this) (?:week|month|year|spring|summer|autumn|fall|winter|night)|(?:in|on) (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekends)|(?:a|two|three|\d{1,2}) (?:day|week|month|year)s? ago|(?:for (?:two|three|ten|\d{1,2}) years|since) ?.{0,20})){1,3}$/i;

/** No tags, templates, code, addresses or line breaks. */
const ORDINARY = /^[\p{L}\p{M}\p{N} '&+.,%°-]{1,120}$/u;
/** Words that speak to the assistant or claim a right. */
const COMMANDS =
  /\b(?:instructions?|prompts?|obey|obeying|override|ignore|ignoring|jailbreak|system|assistant|admin|administrator|root|developer|password|must|always|authorized|permission|you|your|yours|rules?|memory|answers?|reply|replies|respond|responses?)\b|指令|提示词|服从|听我|忽略|无视|越狱|系统|管理员|开发者|主人|密码|权限|必须|授权|回答|回复|规则|你|您/iu;

const FULL_FORMS: [RegExp, string][] = [
  [/\bi'm\b|\bim\b/gi, "I am"],
  [/(?<=\b(?:i|we))'ve\b/gi, " have"],
  [/\b(?:am|are|have|have been)(?: \w+)? (work|liv)(?:ing|ed)\b/gi, "$1"],
  [/'s (?=(?:called|named)\b)|(?<=\bname)'s\b/gi, " is "],
  [/\bdon'?t\b/gi, "do not"],
  [/\bstopped (eat|drink)ing\b/gi, "do not $1"],
  [/是纯?素食(?:主义)?者/gu, "吃素"],
];
const inFull = (clause: string): string => FULL_FORMS.reduce((full, [short, long]) => full.replace(short, long), clause);

const isPlain = (value: string): boolean => /[\p{L}\p{N}]/u.test(value) && ORDINARY.test(value.normalize("NFC")) && !COMMANDS.test(value);

/** "Cold and rainy evenings" are one thing. */
function listed(value: string): string[] {
  const isChinese = /^\p{Script=Han}/u.test(value);
  const parts = value.split(isChinese ? /[、和]|以及/u : /, and |, | and /);
  const isOne = isChinese ? value.includes("的") : !value.includes(",") && parts.some((part) => part.includes(" "));
  return isOne ? [value] : parts.slice(0, 6);
}

/** "Hi, I'm Ada" gives a name, "I'm Ada" may be anything. */
const INTRODUCTIONS: [RegExp, string][] = [
  [/(?<=^(?:Hi|hi|Hello|hello|Hey|hey)\b[^,]*, )I(?:'m| am) (?=\p{Lu}\p{Ll})/u, "my name is "],
  [/(?<=^(?:你好|您好|嗨)[^，,；;]*[，,；;])我是(?![^，,；;]+[人员生师家长手者座子侨妇](?:[，,；;]|$))/u, "我叫"],
];

/** Empty when an entry of a list cannot be a value. `isSmall`: the message has no capitals. */
export function valuesOf({ isMany, value: kind }: Intent, told: string, isSmall = false): string[] {
  const isName = kind && isSmall && /^\p{Ll}{2,20}(?: \p{Ll}{2,20})?$/u.test(told) && told.split(" ").length <= (SMALL_WORDS[kind] ?? 0);
  const named = isName ? told.replace(/(?<!\S)\p{Ll}/gu, (letter) => letter.toUpperCase()) : told;
  const values = isMany ? listed(named) : [named];
  return kind && values.length < 6 && values.every((value) => isOf(kind, value) && isPlain(value)) ? values : [];
}

const STATEMENTS = FORMS.filter(({ intent }) => intent.section !== WISHES);
const WISH_FORMS = FORMS.filter(({ intent }) => intent.section === WISHES);

/** Null: the clause says anything else. `isSmall`: the message has no capitals. `follows`: the clause before was about its writer. */
export function readStatement(clause: string, { isSmall = false, follows = false } = {}): Fact[] | null {
  const isChinese = /^\P{L}*\p{Script=Han}/u.test(clause);
  const said = inFull(clause.trim().replace(isChinese ? CHINESE_LEADS : LEADS, ""));
  if (said === "") return [];
  for (const { words, ...form } of STATEMENTS) {
    const { value = "", thing = "" } =
      (words.exec(said) ?? (follows ? words.exec(`${isChinese ? "我" : "I "}${said}`) : null))?.groups ?? {};
    const told = value.replace(/^了/u, "").replace(END, "");
    const values = thing === "" || isOf("own", thing) ? valuesOf(form.intent, told, isSmall) : [];
    if (values.length > 0) return values.map((one) => ({ ...form, value: one, isChinese, thing: thing.toLowerCase() }));
  }
  return null;
}

const LASTING = /\b(?:from now on|in (?:the )?future|always|every time)\b|以后|从现在起|今后|每次|总是|一直|始终|一律/giu;
const COURTESY =
  /\b(?:please|remember(?: to)?|(?:to )?me)\b|[,:]|请|麻烦|记住|记得|(?<!不)都?要|都|就|[你您]|(?:给|跟|和|对)我|(?<=[答复])我(?:的?问题)?|[，：]/giu;
const OVER =
  /^(?:you )?(?:no longer (?:need|have) to|(?:do not|don't) (?:need|have) to|stop(?= \w+ing)) (.+?)(?: any ?more| any longer)?$|^(?:不用|不必|不需要|不要)再?(.+?)了?$/iu;

/** The user's lasting wish for answers, or null. A wish for a single answer is none. */
function readWish(sentence: string): Fact | null {
  const lasting = sentence.replace(LASTING, " ");
  const isChinese = /\p{Script=Han}/u.test(lasting);
  const words = lasting.replace(COURTESY, " ").trim();
  const said = words.replace(/\s+/g, isChinese ? "" : " ");
  const over = OVER.exec(said);
  if (!over && lasting === sentence) return null;
  const wanted = (over?.[1] ?? over?.[2] ?? said).replace(/^(answer|reply|respond|writ|speak|talk)ing/i, "$1");
  for (const { intent, words: form } of WISH_FORMS) {
    const value = form.exec(wanted)?.groups?.["value"];
    if (value !== undefined && intent.value && isOf(intent.value, value))
      return { intent, holds: over ? "over" : "yes", value: intent.isMany ? value.toLowerCase() : value, isChinese, thing: "" };
  }
  return null;
}

/** `instead` replaces the value of a line. */
export type Change = { fact: Fact } | { forget: string } | { instead: string; of: string };

/** Marks of quotations, code, lists, transcripts and verses. */
const NOT_TYPED = /["“”„«»「」『』‘<>{}[\]|`*_#/\\~=:：•…()（）^$@🙄🙃—–]|\.\.|--| - |(?:^|\s)'|^[-\d]|^.{0,12}：/u;
/** Words of quoted, reported, hypothetical or joking text. */
const FOREIGN =
  /\b(?:said|says|say|told|tells|wrote|writes|asked|thinks|according|if|unless|pretend|imagine|suppose|maybe|kidding|joke|joking|story|novel|poem|song|lyrics|script|dialogue|scene|game|role-?play|character|translate|translation|rewrite|rephrase|paraphrase|summari[sz]e|proofread|grammar|sentence|paragraph|text|letter|e-?mail|mail|quote|essay|bio|write|compose|draft|dear|regards|sincerely|ignore|instructions|prompt|system|yeah)\b|[说问写诗信梦]|如果|要是|假如|假设|假装|扮演|故事|剧本|作文|歌词|翻译|改写|润色|总结|校对|造句|语法|邮件|玩笑|骗你|呵呵|才怪|可能|也许|忽略|无视|指令|系统|此致|敬礼|尊敬/iu;

const ENGLISH_CLAUSE =
  /(?:, (?:and |but |so )?| (?:and|but) )(?=(?:i|i'm|my|we|what|which|where|who|how|can|could|would|should|do|is|please|if|she|he|they|just|or|our|it|work (?:at|for|as))\b)|, (?=not )/iu;
const CHINESE_CLAUSE = /[，,；;](?!叫)/u;
/** Unlike "right?", such a last clause leaves the statement before it. */
const ASKS_FOR_MORE = /^(?:what|which|where|who|how|can|could|would|should)\b|^(?:什么|怎么|哪|有|能|可以|推荐|请|帮|应该|该)/iu;
const ASKS = /[?？]|[吗呢么]$|^(?!.{0,3}(?:选|用|换|改|叫我|忘|删)).*吧$/u;
/** "not Rose" denies what the clause before does not say; "not Rose, Rosa" alone names the replacement. */
const NOT = /^(?:not (?:in |at |on |to )?|而?不[是在])(.+)$/iu;
const NOT_BUT = /^(?:not|不是) ?(?<of>[^,，是而]+)(?:, (?:but )?|[，,]?(?:而|应该)?是)(?<instead>[^,，是]+)$/iu;
const BUT_NOT = /^(?:(?:it is|it's|应该是|是) ?)?(?<instead>.+?)[，,] ?而?(?:not|不是) ?(?<of>.+)$/iu;

const REMEMBER =
  /^(?:please )?(?:remember|do not forget|don't forget|keep in mind|note)(?: that)?[:,]? (?=(?:i|i'm|my|we|our)\b)|^(?:请|麻烦)?(?:帮我|你要?)?(?:记住|记一下|别忘了|不要忘记)[：，, ]*(?=我)/iu;
const FORGET =
  /^(?:please )?(?:forget|delete|erase|(?:do not|don't) remember)(?: about| what i said about)?(?: that)? (?=(?:i|i'm|my|we|our|where|what|everything)\b)|^(?:请|麻烦)?(?:帮我|你)?(?:忘掉|忘了|忘记|删掉|删除|不要再?记住?)(?=我|关于我|所有|全部)|^请?把(?=我的.{1,20}(?:忘掉|忘了|删掉|删了)$)/iu;

/** Null: the message is not about its writer. */
function readSentence(sentence: string, isSmall: boolean): Change[] | null {
  const asks = ASKS.test(sentence);
  const plain = sentence.replace(/[.!?。！？~～ ]{1,9}$/u, "");
  const wish = asks ? null : readWish(plain);
  if (wish) return [{ fact: wish }];
  if (!asks && FORGET.test(plain)) return [{ forget: plain.replace(FORGET, "") }];
  const remember = !asks && REMEMBER.test(plain);
  const said = INTRODUCTIONS.reduce((left, [am, named]) => left.replace(am, named), remember ? plain.replace(REMEMBER, "") : plain);
  const clauses = said.split(/^[a-z]/iu.test(said) ? ENGLISH_CLAUSE : CHINESE_CLAUSE).filter((clause) => clause.trim() !== "");
  const stated = asks ? clauses.slice(0, ASKS_FOR_MORE.test(clauses.at(-1) ?? "") ? -1 : 0) : clauses;
  const facts: Fact[] = [];
  let end = 0;
  for (const clause of stated) {
    const [last, not] = [facts.at(-1), NOT.exec(clause)?.[1]];
    const takenBack = last && not !== undefined ? [{ ...last, holds: negated(last), isChange: true, value: not }] : null;
    const read = takenBack ?? readStatement(clause, { isSmall, follows: facts.length > 0 || /^我/u.test(stated[end - 1] ?? "") });
    if (read === null) break;
    facts.push(...read);
    end++;
  }
  if (remember && end < stated.length) {
    const [value, isChinese] = [said.replaceAll("，", " "), said.startsWith("我")];
    const isNote = isPlain(value) && (isChinese ? value.length > 4 : value.split(" ").length > 3);
    return isNote ? [{ fact: { intent: NOTE, holds: "yes", value, isChinese, thing: "" } }] : [];
  }
  const plainly = said.replace(LEADS, "").replace(CHINESE_LEADS, "");
  const { instead, of } = (facts.length === 0 && !asks && (NOT_BUT.exec(plainly) ?? BUT_NOT.exec(plainly))?.groups) || {};
  if (instead !== undefined && of !== undefined) return [{ instead, of: of.trim() }];
  return FOREIGN.test(clauses.slice(end).join(" ")) ? null : facts.map((fact) => ({ fact }));
}

/** Only after these a colon is the user's own. */
const OPENER =
  /(?<=^(?:请?记住|(?:我?[说搞])?错了|更正一?下?|不对|(?:please )?(?:remember|note)|(?:(?:sorry|oh|no|ok),? )?(?:sorry|correction|actually|(?:(?:i|that|it) was )?wrong|i changed my mind)))[:：]/iu;

/** The changes in a message, if it is plainly its writer's own: one short line without marks of foreign text. */
export function readMessage(message: string): Change[] {
  if (message.length > 300) return [];
  const text = message.trim().replaceAll("’", "'").replace(OPENER, ",");
  if (LINE_BREAK.test(text) || NOT_TYPED.test(text) || !text.isWellFormed()) return [];
  const isSmall = !/\p{Lu}/u.test(text.replaceAll(/\bI\b/g, ""));
  const changes = splitSentences(text).map((sentence) => readSentence(sentence, isSmall));
  return changes.every((change) => change !== null) ? changes.flat() : [];
}

export const tellsChange = (message: string): boolean =>
  OTHERWISE.test(message) || readMessage(message).some((change) => !("fact" in change) || change.fact.isChange);
