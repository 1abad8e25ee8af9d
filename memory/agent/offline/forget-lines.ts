import stem from "wink-porter2-stemmer";
import { applyFact } from "./apply-fact.ts";
import type { CoreLine } from "./core-lines.ts";
import { factsInClause } from "./facts-in-clause.ts";
import type { Slot } from "./slots.ts";
import { splitClauses } from "./split-clauses.ts";

const EVERYTHING =
  /^(?:everything|all)(?: that)?(?: you(?: have)? (?:know|remember|stored|saved|learned))?(?: about)? (?:me|i (?:said|told you).*)$|^(?:关于我的?|有关我的?)?(?:所有|全部|一切)(?:关于我的?|我的)?(?:事情?|信息|记忆|资料|内容)?$/iu;
/** What a part of core memory is called; the whole phrase, so that "my home cinema" is not the home. */
const CALLED: [RegExp, Slot[]][] = [
  [/^(?:my )?(?:full |first |real )?name$|^(?:我)?(?:的)?(?:名字|姓名|叫什么)$/iu, ["name"]],
  [/^(?:my )?nickname$|^(?:我)?(?:的)?(?:昵称|外号|称呼)$/iu, ["nickname"]],
  [
    /^(?:my )?(?:home |current )?(?:address|residence|location|home|city|home town)$|^where i live$|^(?:我)?(?:的)?(?:住址|地址|住处|家庭住址|住在哪里?儿?|城市)$/iu,
    ["home"],
  ],
  [
    /^(?:my )?(?:job|work|occupation|profession|employer|workplace)$|^where i work$|^what i do(?: for a living)?$|^(?:我)?(?:的)?(?:工作|职业|公司|单位)$/iu,
    ["job", "employer", "workplace"],
  ],
  [/^(?:my )?age$|^how old i am$|^(?:我)?(?:的)?(?:年龄|岁数|年纪|多大)$/iu, ["age"]],
  [/^(?:my )?(?:birthday|birth date|date of birth)$|^when i was born$|^(?:我)?(?:的)?(?:生日|出生日期)$/iu, ["birthday", "birth"]],
  [/^(?:my )?allerg(?:y|ies)$|^(?:我)?(?:的)?过敏(?:史|源|信息)?$/iu, ["allergy"]],
  [/^(?:my )?diet$|^(?:我)?(?:的)?饮食(?:习惯)?$/iu, ["diet", "avoids"]],
  [/^(?:my )?(?:preferences|likes(?: and dislikes)?|tastes?)$|^(?:我)?(?:的)?(?:喜好|爱好|偏好)$/iu, ["taste", "favourite", "prefer"]],
  [/^(?:my )?goals?$|^(?:我)?(?:的)?(?:目标|计划)$/iu, ["goal"]],
];
const EMPTY_WORDS = new Set(
  "i my me we our a an the that this about what where who is are am was be do have has had of to in on at for from and or said told you your like".split(
    " ",
  ),
);
const EMPTY_HAN = /我们?|的|了|说过|提过|告诉|关于|有关|这件事|那件事|事情?|你|是|叫|在|曾经/gu;

/** The line has every word of what is to be forgotten that says something. */
function hasWords(line: string, what: string): boolean {
  if (/\p{Script=Han}/u.test(what)) {
    const rest = what.replace(EMPTY_HAN, "").trim();
    return [...rest].length >= 2 && line.includes(rest);
  }
  const stems = (text: string): string[] =>
    (text.toLowerCase().match(/[a-z\d]+/g) ?? []).filter((word) => !EMPTY_WORDS.has(word)).map(stem);
  const [wanted, present] = [stems(what), new Set(stems(line))];
  return wanted.length > 0 && wanted.every((word) => present.has(word));
}

/** The lines without what the user asked to forget, named ("my address") or told ("that I like tea"); all of them for "everything about me". */
export function forgetLines(lines: CoreLine[], asked: string, isCasual: boolean): CoreLine[] {
  const what = asked
    .replace(/^(?:about|关于|有关)\s*/iu, "")
    .replace(/^(?:我)?(?:之前|以前)?(?:说过|提过|告诉过?你)的?/u, "我的")
    .replace(/(?:这件事|的事情?|这个事)$/u, "");
  if (EVERYTHING.test(asked)) return [];
  const slots = CALLED.find(([name]) => name.test(what))?.[1];
  if (slots) {
    const over = slots.map((slot) => ({ slot, polarity: "over" as const, about: "", key: "", text: "" }));
    return over.reduce((left, fact) => applyFact(left, fact, false), lines);
  }
  const facts = splitClauses(what).flatMap((clause) => factsInClause(clause, isCasual));
  if (facts.length > 0) return facts.reduce((left, fact) => applyFact(left, { ...fact, polarity: "over" }, false), lines);
  return lines.filter(({ text }) => !hasWords(text, what));
}
