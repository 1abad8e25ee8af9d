import { chineseNumber } from "../../text/chinese-times.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";

export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}

const MESSAGES = 4;
const MAX_WORDS = 60;
const MAX_CHARACTERS = 4_000;
const WORD = /\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu;
const NAME = /(?<=[\p{Ll}\d,;:] )["“]?\p{Lu}\p{L}|《|「|“/u;

/** Adds at most 60 words of the last two exchanges to a question that points back: "that director you mentioned", "第二个呢", "and him?". */
export function completeQuestion(question: string, recent: readonly RecentMessage[]): string {
  const pointer = findReference(question);
  if (pointer === null) return question;
  const words = firstWords(referents(pointer, recent.slice(-MESSAGES)).join(" "), MAX_WORDS);
  return words === "" ? question : `${question} ${words}`;
}

/** Two Chinese characters count as one word. */
function firstWords(text: string, count: number): string {
  const words = [...text.matchAll(WORD)];
  const next = words[count];
  return next === undefined ? text : text.slice(0, next.index).trim();
}

function latestSentences(recent: readonly RecentMessage[]): string[] {
  return recent
    .toReversed()
    .flatMap(({ content }) => splitSentences(content.slice(0, MAX_CHARACTERS)).filter((sentence) => !isSmallTalk(sentence)));
}

function itemAt(position: number, recent: readonly RecentMessage[]): string | undefined {
  const lists = recent.toReversed().map(({ content }) => listItems(content.slice(0, MAX_CHARACTERS)));
  return lists.find((items) => items.length > 1)?.at(position);
}

function sentencesWith(word: string, recent: readonly RecentMessage[]): string[] {
  const wanted = lexicalText(word)
    .split(" ")
    .filter((part) => part.length > 1 || word.length === 1);
  return latestSentences(recent).filter((sentence) => {
    const words = new Set(lexicalText(sentence).split(" "));
    return wanted.some((part) => words.has(part));
  });
}

/** The latest sentence with a name, and the last message of the user. */
function topic(recent: readonly RecentMessage[]): string[] {
  const sentences = latestSentences(recent.slice(-2));
  const named = sentences.find((sentence) => NAME.test(sentence)) ?? sentences[0];
  const asked = latestSentences(recent.filter(({ role }) => role === "user").slice(-1));
  return [...new Set([...(named === undefined ? [] : [named]), ...asked])];
}

function referents(pointer: Pointer, recent: readonly RecentMessage[]): string[] {
  if (pointer.to === "topic") return topic(recent);
  if (pointer.to === "thing") return sentencesWith(pointer.word, recent).slice(0, 2);
  const item = itemAt(pointer.position, recent);
  return item === undefined ? topic(recent) : [item];
}

const MARKED = /^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|（\d{1,2}）|[①-⑩]|第?[一二三四五六七八九十]{1,2}[、，,.：:])\s*(\S.*)$/u;
const INLINE_MARK = /(?:^|[\s:：;；,，。])(?:\(?[1-9][.)、]|（[1-9]）|[①-⑩])\s*/gu;
/** Characters of an item in a series. */
const LONGEST_ENGLISH = 40;
const LONGEST_CHINESE = 20;

/** "红色、蓝色和绿色": short parts between 、. */
function chineseSeries(stretch: string): string[] {
  const [first = "", ...others] = stretch.split("、");
  const end = others.findIndex((part) => part === "" || part.length > LONGEST_CHINESE);
  const items = end < 0 ? others : [...others.slice(0, end), others[end]?.slice(0, LONGEST_CHINESE) ?? ""];
  return items.some(Boolean) && first !== "" ? [first.slice(-LONGEST_CHINESE), ...items] : [];
}

/** "Rome, Paris and Oslo": short parts between commas. */
function englishSeries(stretch: string): string[] {
  if (!stretch.includes(", ")) return [];
  const parts = stretch.split(/,? (?:and|or) |, (?:and |or )?/u);
  const others = parts.slice(parts.findLastIndex((part) => part.length < 2 || part.length > LONGEST_ENGLISH) + 1);
  const before = parts[parts.length - others.length - 1] ?? "";
  const items = before.length > LONGEST_ENGLISH ? [before.slice(-LONGEST_ENGLISH), ...others] : others;
  return others.length > 0 && items.length > 1 ? items : [];
}

function firstSeries(stretches: string[], series: (stretch: string) => string[]): string[] {
  return stretches.map(series).find((items) => items.length > 0) ?? [];
}

function inSeries(text: string): string[] {
  const chinese = text.includes("、") ? firstSeries(text.split(/[，。；：！？\s]/u), chineseSeries) : [];
  if (chinese.length > 0) return chinese.flatMap((item) => item.split(/和|或者?|以及/u)).filter(Boolean);
  return firstSeries(text.split(/[.;:!?\n]/u), englishSeries).filter(Boolean);
}

function listItems(message: string): string[] {
  const marked = message.split("\n").flatMap((line) => MARKED.exec(line)?.[1] ?? []);
  if (marked.length > 1) return marked;
  const parts = message.split(INLINE_MARK).slice(1);
  if (parts.length > 1) return parts.map((part) => splitSentences(part)[0] ?? part.trim());
  return inSeries(message);
}

/** What a question points back to: an item of a list (-1 is the last), a thing by its word, or the topic. */
type Pointer = { to: "item"; position: number } | { to: "thing"; word: string } | { to: "topic" };

/** Longer messages name their topic themselves. */
const LONGEST = 160;
const ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");
const SAID =
  "(?:just |earlier |already )?(?:mention(?:ed)?|said|suggest(?:ed)?|recommend(?:ed)?|list(?:ed)?|named?|describe[d]?|told me(?: about)?|wrote|gave me|propose[d]?|brought up|talked about|spoke of)";

const ENGLISH_ITEM = new RegExp(
  `\\b(?:the |that )?(?:(?<ordinal>${ORDINALS.join("|")}|last|former|latter|[1-9](?:st|nd|rd|th)) (?:one|option|choice|item|suggestion|point|idea|recommendation|step|of (?:those|these|them))\\b(?! (?:i|we) )|(?<pair>former|latter)\\b|(?:option|number|no\\.|item|suggestion) ?#?(?<number>[1-9]|one|two|three|four|five)\\b)`,
  "i",
);
const ENGLISH_THING = new RegExp(
  `\\b(?:that|the|those|this|these) (?:[\\w'’-]+ ){0,2}?(?<word>[\\w'’-]+) (?:that |which |who )?(?:you|we) ${SAID}\\b`,
  "i",
);
const ENGLISH_JUST = new RegExp(
  `\\b(?:you|i|we) (?:just|have just) \\w+|\\b(?:what|as) you (?:just )?(?:mentioned|said|suggested|wrote)\\b|\\babove\\b`,
  "i",
);
const TIME_WORD =
  "(?:second|minute|hour|day|night|morning|evening|weekend|week|month|year|time|spring|summer|autumn|fall|winter|way|kind|sort|many|much)s?";
const ENGLISH_THAT = new RegExp(
  `(?:^|[,;] |\\b(?:is|was|were|are|did|does|do|about|of|with|from|to|for|at|in|on|by|like|know|remember|and|buy|visit|read|watch|try|find|call) )(?:that|those|these) (?!${TIME_WORD}\\b)(?!i\\b|i['’]|we\\b|you\\b|he\\b|she\\b|it\\b|they\\b|my\\b|our\\b|the\\b)(?<word>[a-z'’-]{3,})(?: \\w+)?\\s*(?:[?.!]|$|\\b(?:called|named|again|open|cost|like|made|from|located|now|today)\\b)`,
  "i",
);
const ENGLISH_BARE =
  /\b(?:(?:is|was|does|did|will|would|can|could|about|like|after|before|with|for|of|than|do) (?:that|this|those|these)|(?:one|some|any|all|both|either|neither) of (?:those|these|them))\b(?=\s*(?:[?.!,]|$|work|mean|cost|take|help|happen|look|sound|matter|compare|true|right|too|so|again|instead|possible|good|better|expensive|far|open))/i;
const ENGLISH_SHORT =
  /^(?:(?:and|or|but|so|ok(?:ay)?|then),? (?!what|when|where|who|how|which|why|do|does|did|is|are|was|were|can|could|will|would|i\b)\S+(?: (?!what|when|where|who|how|which|why|do|does|did|is|are|was|were|can|could|will|would|i\b)\S+){0,3}(?: \?)?|(?:what|how) about \S+(?: \S+){0,4}(?: \?)?|(?:and )?(?:why|how|how so|where|when|who|how much|how long|how many|how come|which one|which ones|why not|what else|anything else|then what|and then|such as|like what|for example)(?: exactly| then)?\s*\?*|(?:please )?(?:tell me more|say more|go on|more details?|continue|elaborate|explain more|more)(?: please)?\s*[.?!]*|which (?:one )?(?:is|was|of them|would) [^,]{2,30}\?)$/i;
const ENGLISH_PRONOUN = /\b(?<pronoun>he|him|his|she|hers?|they|them|theirs?|it|its|there)\b/i;
const ANTECEDENT =
  /(?:\b(?:my|our|your|the|a|an|this|that|his|her|their|some|any|every|which|\w+['’]s) \w+|(?!^)\b\p{Lu}\p{L}+|^(?:Is|Does|Did|Was|Has|Can|Will|When|Where|How|Why)\S* \p{Lu}\p{L}+)/u;
const EMPTY_IT =
  /\b(?:is|was|will|would|does|did|can|could)(?:n['’]t)? it (?:be )?(?:\w+ ){1,3}(?:to|that|if|for)\b|\bit (?:take|cost|mean|matter)s? to\b|\b(?:time|day|date|year|season) (?:is|was) it\b|\b(?:is|was|will|does|did) it (?:be )?(?:rain|snow|cold|hot|warm|sunny|windy|late|early|dark)|\bwhat is it like\b/i;
const THERE_AT_END = /\bthere\s*(?:[?.!,]|$|now|today|again|too)/i;
const PLACE =
  /\b(?:in|at|to|from|near|of|the|my|our) (?:\p{Lu}\p{L}+|\w+ (?:shop|store|restaurant|hotel|school|office|house|home|city|town|place|gym|park|country|island|beach))|\b(?:my|our|the) (?:shop|store|restaurant|hotel|school|office|house|city|town|gym|park|island|beach)\b/u;
const THERE_IS =
  /\b(?:is|are|was|were|will|be|been|has|have)(?:n['’]t)? there\b|\bthere(?:['’]s| is| are| was| were| will| has| have| be)\b/i;

const COUNTER = "[个条点项款家本部种位首道]";
const CHINESE_ITEM = new RegExp(
  `(?<!我的?)(?:第(?<position>\\d|[一二三四五六七八九十])|(?<last>最后一|倒数第一))${COUNTER}(?=[是呢怎多在叫贵便好有吗要行更能可？?，,。！]|$|选项|方案|建议|推荐|菜|地方|步)|(?<pair>前者|后者)`,
  "u",
);
const CHINESE_THING =
  /(?:刚才|刚刚|刚|上面|前面|上述|(?<![跟和对给向])你)(?:你|我们|我|咱们)?(?:刚才|刚刚|刚)?(?:所?(?:提到|提及|提|说|讲|推荐|介绍|建议|列|聊)(?:过|到|起|出)?)(?:的(?:那|这)?|那|这)(?:几?[个位家部本首款件种些条道座])?(?<word>\p{Script=Han}{0,6}?)(?=$|[是叫在的有多几怎什哪谁吗呢吧贵好要需？?，,。！ ])/u;
const CHINESE_THAT =
  /(?<!的)[那这](?:[个位家部本首款件种座条只张间道份场]|几[个位家部本])(?!月|周|星期|礼拜|季|年|时候|世界|问题|学期|暑假|寒假|国家|城市生活)(?<word>\p{Script=Han}{0,6}?)(?=$|[是叫在的有多几怎什哪谁吗呢吧贵好要需开？?，,。！ ])/u;
const CHINESE_JUST = /刚才|刚刚|上面(?:说|提|讲|列|的)|前面(?:说|提|讲|列)/u;
const CHINESE_SHORT =
  /^(?:那么?|然后|所以)?(?!我|有|在|要不要)[^？?，。什么怎哪谁几多]{1,8}呢[？?]*$|^(?:那|然后|还有|后来)?呢[？?]*$|^(?:为什么|为啥|怎么说|怎么会|然后呢|后来呢|还有吗|还有呢|还有别的吗|详细(?:说说|一点|点)|具体(?:点|一点|说说|呢)|继续|接着说|展开(?:讲讲|说说)|多少钱|在哪(?:里|儿)?|什么时候|是谁|哪一?个(?:更?好|更?便宜|贵)?|怎么样|比如|举个例子|(?:很|太|更)?(?:贵|远|近|难|冷|热|好吃|好看|好用|便宜|开门|安全|方便|收费)(?=吗))(?:呢|吗|啊|吧)?[？?。！]*$/u;
const CHINESE_PRONOUN = /(?<![其吉])(?:他们?|她们?|它们?)(?![人国乡日杀妈])|其中|那里|那边|那儿/u;
/** Words before a pronoun that it does not refer to. */
const LEAD_IN =
  /那么?|所以|然后|请问|你(?:觉得|知道|认为|说)|可是|但是|不过|还有|对了|嗯|什么时候|为什么|怎么|在哪里?|哪里|多少|谁|是|会|能|可以|有没有|跟|和|给|对|关于|住|喜欢|要|想|我|你|告诉|问|送|买|见|去|到|过|应该|该|从|把|被|让|现在|再|，|,| /gu;

function readEnglish(question: string): Pointer | null {
  const item = ENGLISH_ITEM.exec(question)?.groups;
  if (item) {
    const word = (item.ordinal ?? item.pair ?? item.number ?? "").toLowerCase();
    if (word === "last" || word === "latter") return { to: "item", position: -1 };
    if (word === "former") return { to: "item", position: 0 };
    const spelled = ["one", "two", "three", "four", "five"].indexOf(word);
    return { to: "item", position: /^\d/.test(word) ? Number.parseInt(word) - 1 : Math.max(ORDINALS.indexOf(word), spelled) };
  }
  const words = question.split(/\s+/).length;
  const thing = (words <= 14 ? ENGLISH_THING.exec(question) : null) ?? (words <= 10 ? ENGLISH_THAT.exec(question) : null);
  if (thing?.groups?.word !== undefined && !/^(?:one|ones|thing|things)$/i.test(thing.groups.word))
    return { to: "thing", word: thing.groups.word };
  if (thing || ENGLISH_SHORT.test(question) || ENGLISH_JUST.test(question) || (words <= 10 && ENGLISH_BARE.test(question)))
    return { to: "topic" };
  const pronoun = ENGLISH_PRONOUN.exec(question);
  if (!pronoun || EMPTY_IT.test(question)) return null;
  const before = question.slice(0, pronoun.index);
  if (/there/i.test(pronoun[0]))
    return THERE_AT_END.test(question) && !THERE_IS.test(question) && !PLACE.test(before) ? { to: "topic" } : null;
  return ANTECEDENT.test(before) ? null : { to: "topic" };
}

function readChinese(question: string): Pointer | null {
  const item = CHINESE_ITEM.exec(question)?.groups;
  if (item)
    return {
      to: "item",
      position: (item.last ?? item.pair) === undefined ? chineseNumber(item.position ?? "") - 1 : item.pair === "前者" ? 0 : -1,
    };
  const word = (CHINESE_THING.exec(question) ?? CHINESE_THAT.exec(question))?.groups?.word;
  if (word !== undefined) return word === "" ? { to: "topic" } : { to: "thing", word };
  if (CHINESE_SHORT.test(question) || CHINESE_JUST.test(question)) return { to: "topic" };
  const pronoun = CHINESE_PRONOUN.exec(question);
  if (!pronoun) return null;
  return question.slice(0, pronoun.index).replace(LEAD_IN, "").length <= 1 ? { to: "topic" } : null;
}

/** Reads an English or Chinese question; null when it points at nothing said before. */
export function findReference(question: string): Pointer | null {
  const text = question.normalize("NFKC").replace(/\s+/g, " ").trim();
  if (text === "" || text.length > LONGEST) return null;
  return /\p{Script=Han}/u.test(text) ? readChinese(text) : readEnglish(text);
}
