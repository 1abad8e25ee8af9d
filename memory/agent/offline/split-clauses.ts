import { ROLES } from "./relation-roles.ts";

const STARTERS =
  "(?:i|my|we|our|you|he|she|it|they|this|that|these|those|there|what|which|who|where|when|how|why|can|could|do|does|is|are|any|please|not|no|now|then|actually|though|tho|too|as|if|even|especially|mainly|mostly|right|correct|since|because|although|let|give|tell|help|suggest|recommend|should|would|will|just|anything|everyone|never|call|by the way|btw|haha|lol|thanks|thank|so|but|or maybe|or not|ok|okay|yeah|yes|am|work|live|love|hate|and (?:i|my|we|it|now|then|so))\\b";
const BREAK = new RegExp(
  `[;:—–；：，？?!！]+|\\s-+\\s|\\.{2,}|…+|, ?(?=${STARTERS})|,? (?:but|because|although|though|while|whereas|so that|which is why|and that is why) (?!not\\b|also$)|,? (?=which\\b)| (?:so|since|as) (?=(?:i|my|we|it|no|please|can|could|what) )|,? and (?=(?:i|my|we|he|she|they|it|you|now i)\\b)|[,，。](?=\\s*\\p{Script=Han})`,
  "iu",
);
const VERB = "(?:live|work|love|hate|enjoy|prefer|dislike|study|am|moved|come from|have (?:a|an|two|three)|do not|can not|never)";
const ALSO = "(?:(?:now|also|currently|still|really|absolutely|recently|just|then|actually) )*";
const SECOND_VERB = new RegExp(`,? (?<word>and|but) (?=${ALSO}(?:like|${VERB})\\b)|, (?=${ALSO}${VERB}\\b)`, "giu");
const OF_THE_USER =
  /^(?:i|we) (?:\w+ ){0,2}?(?:am|are|live|work|like|love|hate|enjoy|prefer|dislike|study|moved|come|have|do not|can not (?:stand|eat|drink|have|bear)|changed|quit)\b(?! (?:trying|going|planning|hoping|to)\b)(?!.*\blike to\b)/i;
const LEAD_IN =
  /^(?:(?:hi|hello|hey|hiya|greetings|good (?:morning|evening|afternoon)|there|everyone|all|well|so|and|but|or|also|oh|ah|ok|okay|yes|yeah|yep|no|nope|nah|actually|honestly|frankly|to be (?:honest|fair|clear)|tbh|by the way|btw|fyi|just so you know|jsyk|for (?:the record|context|reference|your information)|in fact|now|nowadays|these days|currently|lately|recently|anyway|because|since|as|although|though|sorry|thanks|thank you|thanks a lot|please|correction|just|then|finally|personally|note that|please note(?: that)?|(?:i )?forgot to (?:mention|say|tell you)(?: that)?|i should (?:mention|say|add|tell you)(?: that)?|as (?:i|you) (?:said|told you|mentioned|asked|know)|since you ask(?:ed)?|(?:my|the) doctor (?:says|said|told me)(?: that)?|i must (?:say|admit)(?: that)?|i have to (?:say|admit)(?: that)?|you should know(?: that)?|first of all|firstly|secondly|basically|update|news|good news|big news|turns out|the thing is|about me|after all|originally)[,:!.]? +)+/i;
const CHINESE_LEAD_IN =
  /^(?:(?:你好|您好|嗨|大家好|哈喽|hello|hi|对了|其实|顺便(?:说一下|说一句|提一下)?|另外|还有|而且|并且|但是?|不过|可是|然后|说实话|老实说|坦白说|嗯+|哦+|啊|那个|忘了(?:说|告诉你)|更正一下|纠正一下|所以|因为|由于|话说|跟你说|告诉你|补充一下|我跟你说|事实上|平时|虽然|目前|最近|现在|如今|另|啊对|那|哎|唉|既然)[ ，,]*)+(?=.)/u;
const CHINESE_VERB =
  /^(?:(?:现在|目前|如今|也|还|就|都|特别|很|非常|一直|从来|最|更)*(?:住|是|在|叫|喜欢|爱|讨厌|不喜欢|不太喜欢|不爱|不吃|不喝|来自|今年|对|有|换|搬|老家|想|打算|\d{1,3}岁|[一二三四五六七八九十]+岁))/u;
/** 我 is the subject, not one of what is 我的. */
const OF_ME = new RegExp(
  `^我(?!们|的|家|国|校|方|俩|[^，。]{0,3}${ROLES.chinese}|说|觉得|问|听|看|知道|认为|以为|发现|记得|猜|相信|怀疑|上司|医生|房东|团队|部门|客户|宝宝|[^，。是在]{1,3}的(?!名字|生日|年龄|工作|职业|专业|目标|梦想)|.*[他她])`,
  "u",
);
/** The subject stands second: "科幻我看腻了". */
const SECOND = /^[^我，。]{1,8}我(?:已经|都|早就|也)*(?:看|听|吃|喝|玩)?腻/u;
const PAST = /^我.{0,4}?(?:以前|曾经?|过去|小时候|之前|当年|那时)/u;
const NOW = /^(?:现在|目前|如今|但现在|后来)/u;

const isHan = (text: string): boolean => /\p{Script=Han}/u.test(text);

/** "I'm from Rome but live in Milan" with both subjects written out. */
function withSubjects(sentence: string): string {
  return sentence.replace(SECOND_VERB, (match, word: string | undefined, offset: number) => {
    const before = sentence.slice(0, offset).split(BREAK).at(-1)?.trim().replace(LEAD_IN, "") ?? "";
    return OF_THE_USER.test(before) ? `, ${word ?? "and"} I ` : match;
  });
}

/** Chinese parts with 我 written out where it is left away, and with what says that all of it is over. */
function withChineseSubject(parts: string[]): string[] {
  let subject = "";
  return parts.map((part) => {
    const plain = part.replace(CHINESE_LEAD_IN, "");
    const carried = subject !== "" && CHINESE_VERB.test(plain);
    const clause = carried ? (NOW.test(part) ? "我" : subject) + plain : plain;
    const isOfMe = OF_ME.test(clause) || SECOND.test(clause);
    subject = isOfMe ? (PAST.test(clause) ? "我以前" : "我") : "";
    return clause;
  });
}

/** What a sentence says one after the other, each with its subject and without "by the way" and the like. */
export function splitClauses(sentence: string): string[] {
  // Twice, since the second subject may be the one of a third verb.
  const parts = withSubjects(withSubjects(sentence))
    .split(BREAK)
    .map((part) =>
      part
        .trim()
        .replace(/^[,，、\s]+|[,，、.。!！~～\s]+$/gu, "")
        .replace(LEAD_IN, ""),
    )
    .filter((part) => part !== "");
  return isHan(sentence) ? withChineseSubject(parts) : parts;
}
