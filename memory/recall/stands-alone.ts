import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";

export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}

/** What a question has of its own and from the talk before it. */
interface Shares {
  /** English words, or pairs of Chinese characters, that were not said. */
  own: number;
  said: string[];
}

const HAN = /\p{Script=Han}/u;
const LONGEST = { english: 12, chinese: 16 };
const MOST_OWN = { further: 2, said: 2, chinese: 1 };
const MARKS = /[ ?？!！.。]{1,9}$/u;

/** Words that need something to compare with or add to: "another", "better", "too". */
const FURTHER =
  /^(?:and|but|so|then)\b|\b(?:others?|another|else|better|best|worse|worst|safer|cheaper|faster|closer|more|most|next|instead|too|also|as well|same|such|similar|different|alternatives?|specific|main|usual)\b|(?:其他|其它|别的|另外|更|最|还|也|再(?!见)|同样|一样|类似|主要|一般|通常)/u;
/** English words that say little of what is asked. */
const LIGHT = new Set(
  lexicalText(
    "like thing way lot good bad great much many far long often big get make take happen work mean need use recommend suggest say tell know think feel want look go come find give try show explain ask sure right possible actually usual real example detail idea tip option reason difference advantage disadvantage benefit risk cause effect symptom meaning name author director writer price cost fee address rating rule step part kind type sort best better other another else next same different main more most first then so one ones part story history result answer version start begin end happened there",
  ).split(" "),
);
/** Chinese words of the same kind, and question words. */
const CHINESE_LIGHT =
  /什么时候|为什么|为啥|怎么样|怎么|怎样|如何|什么|多少|哪[个些里儿位种家部年]?|是不是|有没有|能不能|可不可以|要不要|行不行|好不好|会不会|需不需要|应该|可以|可能|需要|建议|推荐|介绍|详细|具体|请问|告诉|知道|觉得|认为|一般|平时|通常|大概|大约|一共|到底|究竟|主要|比较|其他|其它|别的|另外|同样|类似|一样|现在|后来|然后|那么|还是|或者|作者|导演|主演|主角|女主角?|男主角?|内容|剧情|情节|结局|价格|价钱|地址|味道|口味|质量|效果|原因|意思|含义|优点|缺点|特点|区别|好处|坏处|副作用|原唱|评价|名字|办法|方法|步骤|[一几多谁钱吗呢么吧啊呀哦嘛了的得地着过是有在会能要想去来到吃玩看听说讲买用做弄写唱演拍好贵难远近大小长高快慢早晚久冷热最更还也都再很太不没给和跟与或对把被从就才个本部家种次条件位些这那里面上下中前后它他她们你您，、 ]/gu;
const OWN_OR_NAMED =
  /\b(?:my|our|i|we)\b(?! (?:do|get|use|need|take|make|have|choose|buy|say|know|consider|should|expect|try|add|eat|see)\b)|我们?(?!该|应该|怎么|需要|得|先)(?<![给告诉教帮跟和让对]我)/iu;
/** A capitalised word within a sentence, or a Chinese title. */
const NAME = /(?<=[\p{L}\p{N},;:] ["“]?)\p{Lu}[\p{L}\p{N}'’-]+|(?<=《)[^》]+/gu;
/** Asks for the thing that it names: "What is photosynthesis". */
const DEFINES =
  /^(?:so,? |and,? )?(?:what|who)(?:['’]s| is| are| was| were| does)\s(?!the\b|a\b|an\b|it\b|that\b|this\b|he\b|she\b|they\b)\S+(?: mean)?$|^(?:什么是|谁是)/iu;
/** Asks about what it names: "三体知道吗", "梅西是谁". */
const ASKS_ABOUT = /是谁|是(?:个)?什么|怎么样|怎么看|如何$|知道|认识|听说过|有什么|有哪些|你会|你?去过/u;

function chineseShares(question: string, talk: string): Shares {
  const said: string[] = [];
  let own = 0;
  for (const run of question.replace(CHINESE_LIGHT, " ").match(/[\p{Script=Han}\p{L}\p{N}]+/gu) ?? []) {
    const known = [...run].map((_, place) => talk.includes(run.slice(place, place + 2)) && place + 1 < run.length);
    const isSaid = (place: number): boolean => known[place] === true || known[place - 1] === true;
    const saidPart = [...run].filter((_, place) => isSaid(place)).join("");
    if (saidPart !== "") said.push(saidPart);
    own += (run.length - saidPart.length) / 2;
  }
  return { own, said };
}

function englishShares(question: string, talk: string): Shares {
  const known = new Set(lexicalText(talk).split(" "));
  const words = [...new Set(lexicalText(question).split(" "))].filter((word) => word.length > 1 && !LIGHT.has(word));
  return { own: words.filter((word) => !known.has(word)).length, said: words.filter((word) => known.has(word)) };
}

export function wordsOf(question: string, recent: readonly RecentMessage[]): Shares {
  const talk = recent.map(({ content }) => content).join("\n");
  return (HAN.test(question) ? chineseShares : englishShares)(question, talk);
}

/** Whether only the thing differs: "What is the bus fare?" after "What is the train fare?". */
export function asksTheSameOf(question: string, recent: readonly RecentMessage[]): boolean {
  const own = lexicalText(question).split(" ");
  return recent.some(({ role, content }) => {
    if (role !== "user") return false;
    const before = lexicalText(content).split(" ");
    const instead = countWithout(own, before);
    return instead > 0 && instead <= own.length / 2 && countWithout(before, own) <= instead;
  });
}

function countWithout(words: readonly string[], others: readonly string[]): number {
  const known = new Set(others);
  return words.filter((word) => !known.has(word)).length;
}

/**
 * The words of the talk that a question takes up, empty when it takes up the topic without any. Null when it is understood alone: it is
 * long, has a new name, speaks of the user's own things, or brings many words.
 */
export function takesUp(question: string, recent: readonly RecentMessage[]): string[] | null {
  const asked = question.normalize("NFKC").replace(/\s+/g, " ").trim().replace(MARKS, "");
  const chinese = HAN.test(asked);
  const isLong = chinese ? asked.length > LONGEST.chinese : asked.split(" ").length > LONGEST.english;
  if (asked === "" || isLong || OWN_OR_NAMED.test(asked) || DEFINES.test(asked)) return null;
  const talk = recent.map(({ content }) => content).join("\n");
  const names = [...asked.matchAll(NAME)].map(([name]) => name.replace(/['’]s$/u, ""));
  if (names.some((name) => !talk.includes(name))) return null;
  const { own, said } = wordsOf(asked, recent);
  if (names.length > 0) return own === 0 ? said : null;
  if (said.length > 0) return own <= Math.min(MOST_OWN.said, said.length) ? said : null;
  const mayHave = FURTHER.test(asked) ? MOST_OWN.further : chinese && !ASKS_ABOUT.test(asked) ? MOST_OWN.chinese : 0;
  return own <= mayHave ? said : null;
}

/** The most English words or Chinese pairs of a sentence that only leads in: "Interesting name.", "谢谢！" */
const OF_A_REMARK = 2;

/** The last sentence after small talk or short remarks; else the whole question. */
export function withoutRemarks(question: string): string {
  const sentences = splitSentences(question);
  const last = sentences.pop();
  if (last === undefined || sentences.length === 0) return question;
  const isRemark = (sentence: string): boolean =>
    isSmallTalk(sentence) || (HAN.test(sentence) ? chineseShares : englishShares)(sentence, "").own <= OF_A_REMARK;
  return sentences.every(isRemark) ? last : question;
}
