/** How the user wants to be answered from now on. "over": no longer so. */
export interface Wish {
  topic: "language" | "manner";
  holds: "yes" | "over";
  value: string;
  isChinese: boolean;
}

/** Nothing but these forms is a wish, so that no other text gets among them. The first group is what is kept. */
type Form = [topic: Wish["topic"], words: RegExp];

const LANGUAGES =
  "English|Chinese|Mandarin|German|French|Spanish|Italian|Portuguese|Dutch|Russian|Polish|Turkish|Arabic|Hindi|Japanese|Korean|Vietnamese|Thai";
const ENGLISH: Form[] = [
  ["language", new RegExp(`^(?:answer|reply|respond|write|speak|talk) in (${LANGUAGES})$`, "i")],
  ["manner", /^((?:give|name|cite|show|tell|mention|state|include) (?:the |your )?(?:sources?|references?))$/i],
  ["manner", /^((?:answer|reply|respond) (?:briefly|concisely|in (?:short sentences|one sentence|a few words|bullet points)))$/i],
  ["manner", /^((?:be (?:brief|concise)|keep (?:your |the )?answers (?:short|brief)|use (?:bullet points|tables)))$/i],
];
const LANGUAGES_IN_CHINESE = "中文|汉语|普通话|英文|英语|德语|法语|西班牙语|葡萄牙语|意大利语|俄语|阿拉伯语|日语|日文|韩语";
const CHINESE: Form[] = [
  ["language", new RegExp(`^用(${LANGUAGES_IN_CHINESE})来?(?:回答|回复|答复|交流|说话)(?:问题)?$`, "u")],
  ["language", new RegExp(`^(?:回答|回复)用(${LANGUAGES_IN_CHINESE})$`, "u")],
  ["manner", /^(?:回答时?)?((?:给出|注明|说明|标明|附上|提供)(?:来源|出处))$/u],
  ["manner", /^((?:简短|简洁|简单)地?(?:回答|回复)|(?:回答|回复)(?:简短|简洁|简单)(?:一?[些点])?)$/u],
];

const LASTING = /\b(?:from now on|in (?:the )?future|always|every time)\b|以后|从现在起|今后|每次|总是|一直|始终|一律/giu;
const COURTESY =
  /\b(?:please|remember(?: to)?|(?:to )?me)\b|[,:]|请|麻烦|记住|记得|都?要|都|就|[你您]|(?:给|跟|和|对)我|(?<=[答复])我(?:的?问题)?|[，：]/giu;
const OVER =
  /^(?:you )?(?:no longer (?:need|have) to|(?:do not|don't) (?:need|have) to) (.+?)(?: any ?more| any longer)?$|^(?:不用|不必|不需要)再?(.+?)了?$/iu;

/** Null: the sentence, without its last mark, is no such wish. One for a single answer is none. */
export function readWish(sentence: string): Wish | null {
  const lasting = sentence.replace(LASTING, " ");
  const said = lasting.replace(COURTESY, " ").replace(/\s+/g, " ").trim();
  const isChinese = /\p{Script=Han}/u.test(said);
  const over = OVER.exec(said);
  if (!over && lasting === sentence) return null;
  const wanted = over?.[1] ?? over?.[2] ?? said;
  for (const [topic, words] of isChinese ? CHINESE : ENGLISH) {
    const value = words.exec(isChinese ? wanted.replaceAll(" ", "") : wanted)?.[1];
    if (value !== undefined)
      return { topic, holds: over ? "over" : "yes", value: topic === "language" ? value : value.toLowerCase(), isChinese };
  }
  return null;
}
