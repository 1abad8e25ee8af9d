import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { isQuestion, onlyAsks } from "../../text/telling-or-asking.ts";

type Cue = [weight: number, words: RegExp];

/** A user's facts and wishes; from an assistant they are courtesy. */
const USER_CUES: Cue[] = [
  [8, /\b(?:my name(?:'s|’s| is)|call me|i go by|(?:i am|i['’]m) called|nickname)\b|我叫|我的名字|我姓|叫我|网名|昵称/i],
  [8, /\b(?:allerg(?:y|ic|ies)|intoleran(?:t|ce)|diabet(?:es|ic)|asthma|vegetarian|vegan|gluten|pregnant|medication|kosher|halal)\b/i],
  [8, /过敏|吃素|素食|糖尿病|高血压|哮喘|怀孕|不耐受|忌口|清真|确诊/],
  [
    6,
    /\b(?:i|we)(?:['’](?:m|re|ve)| am| are| have| was)? (?:\w{1,12} )?(?:live|living|moved|moving|born|grew up|come from|from|retired)\b/i,
  ],
  [6, /\b(?:i|we)(?:['’](?:m|ve)| am| have)? (?:\w{1,12} )?(?:work|working) (?:as|at|for|in)\b/i],
  [6, /住在|我家在|我[^，。]{0,6}住|我[^，。]{0,3}在[^，。]{1,14}(?:工作|上班|上学|读书|念书)|搬到|搬去|搬家|老家|我来自|出生/],
  [
    5,
    /\b(?:remember|don['’]?t forget|from now on|keep in mind|make sure|remind me|please (?:\w{1,8} )?(?:call|use|write|answer|avoid))\b/i,
  ],
  [5, /^\W*(?:always|never)\b|记住|记得|以后[^，。]{0,2}(?:请|叫|都|不|别|要|就)|别忘|别再|请叫|务必|提醒我|从现在起|请用|请不要|请别/i],
  [4.5, /\b(?:i['’]ll (?:go|take|have|buy|book)|(?:i['’]m|we['’]re) going (?:with|to))\b|打算|就这么|说好|我选|算了/i],
  [3, /\b(?:let['’]s|we['’]ll|we will|i['’]ll do|i will)\b|我要|我会/i],
  [
    3,
    /\b(?:my|our)(?: [\p{L}\d'’-]+){1,4} (?:is|are|was|were|has|have)\b|\b(?:called|named)\b|我们?的?\p{Script=Han}{1,6}[是叫姓](?![否我你不])/iu,
  ],
  [4, /\b(?:i|we)(?:['’]d| do| would)? (?:\w{1,12} )?(?:like|love|hate|prefer|enjoy|dislike|adore)\b|\bcan(?:['’]?t|not| not) stand\b/i],
  [4, /\bfavou?rites?\b|\b(?:don['’]?t|do not|never) (?:like|eat|drink)\b|\b(?:fan of|fond of|rather than|afraid of)\b/i],
  [4, /喜欢|讨厌|爱[吃喝看听好玩打去]|最爱|偏好|偏爱|受不了|不吃|不喝|不爱|习惯|口味|宁愿|宁可|害怕|我怕/],
  [3, /\b(?:i|we)(?:['’](?:m|ve)| am| have)? (?:\w{1,12} )?(?:lived|worked|study|studied|studying|quit|started|lost my)\b/i],
  [3, /\b(?:i am|i['’]m) (?:an?|the|married|single|engaged|\d)\b|\bmy (?:job|birthday|address|phone|e-?mail|number)\b/i],
  [3, /辞职|退休|入职|跳槽|毕业|结婚|开始|我是(?!不是|说|想|觉得|怕|在|因为|不)|我今年|我属|我的?(?:生日|电话|手机|邮箱|地址|职业)/],
  [
    2.5,
    /\b(?:my|our) (?:\w{1,12} )?(?:wife|husband|partner|sons?|daughters?|kids?|child|children|mother|father|brothers?|sisters?|parents?)\b/i,
  ],
  [2.5, /\b(?:my|our) (?:\w{1,12} )?(?:girlfriend|boyfriend|mom|mum|dad|grand\w{2,8}|aunt|uncle|cousins?|friends?|boss|colleagues?)\b/i],
  [2.5, /\b(?:my|our) (?:\w{1,12} )?(?:roommate|neighbou?r|teacher|doctor|dentist|landlord|dogs?|cats?|pet)\b/i],
  [2.5, /(?:我|我们|家里)的?[^，。]{0,3}(?:老婆|妻子|太太|丈夫|老公|[男女](?:朋?友)|爸|妈|父亲|母亲|儿子|女儿|孩子|[哥姐弟妹舅姨猫狗])/],
  [2.5, /(?:我|我们)的?[^，。]{0,3}(?:爷爷|奶奶|外公|外婆|同事|老板|领导|朋友|室友|同学|老师|邻居|房东)/],
  [
    1.5,
    /\b(?:i|we)(?:['’]ve)? (?:\w{1,12} )?(?:have|had|own|need|want|used to|went|visited|met|learn(?:ed|t|ing)?|read|finished|won|got)\b/i,
  ],
  [1.5, /我们?有|我养|养了|我想|我需要|去[了过]|看[了过]|学会|学了|学习|参加|完成|获得|认识了/],
  [1, /\b(?:always|never|please|planning|plans?|hoping)\b|总是|从来|永远|希望|计划|准备|以后|不要|一定要|千万/i],
  [0.5, /\b(?:i|my|we|our)\b|我/i],
];

/** What is worth keeping whoever says it. */
const ANYONES_CUES: Cue[] = [
  [6, /[A-Za-z][-_#]\d|\b[A-Z]{1,4}\d{2,}|\d[A-Z]\d|[\w.]@\w/],
  [6, /\b(?:code|password|pin|number)\b[^,.!?]{0,12}\d|(?:密码|编号|车次|航班|单号|号码|验证码)[^，。]{0,4}[A-Za-z\d]/i],
  [4.5, /\b(?:decided|decision|agreed|chose|chosen|booked|reserved|settled on|signed up|ordered|bought|confirmed|scheduled|cancel?led)\b/i],
  [
    4.5,
    /\b(?:open questions?|undecided|unresolved)\b|决定|选择|选[了定]|定[了在好]|订[了好]|预[订定]|约[好了在]|买了|报名|签了|待定|取消/i,
  ],
  [3, /\b(?:tomorrow|tonight|deadline|due|appointment|(?:this|next) (?:week|weekend|month|year|summer|winter|spring|autumn|fall))\b/i],
  [3, /明[天早晚]|后天|今晚|下周|下个?月|下个?星期|这?周末|截止|到期|期限|明年|前交/],
  [2.5, /\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:noon|midnight|christmas|birthday|anniversary)\b|\b\d{1,2} ?[ap]\.?m\b/i],
  [2.5, /\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b|\b\d{1,2}(?:st|nd|rd|th|:\d\d)\b/],
  [2.5, /\b\d{4}[-/]\d|(?:周|星期|礼拜)[一二三四五六日天]|[\d一二三四五六七八九十]{1,3} ?[月号日点]|\d{2,4} ?年|春节|中秋|国庆|元旦|生日/],
  [2.5, /\d/],
  [2, /[$€£¥] ?\d|\d ?(?:%|(?:euros?|dollars?|pounds?|kg|kilos?|km|miles?|minutes|hours|days|weeks|months|years|people|guests)\b)/i],
  [2, /\d ?(?:元|块|万|岁|人|个|公斤|公里|小时|分钟|天|周|页)/],
  [
    1.5,
    /\b(?:yesterday|last (?:week|month|year|night|summer|winter)|ago|two|three|four|five|six|seven|eight|nine|ten|dozen|twelve|twenty)\b/i,
  ],
  [1.5, /昨天|前天|上周|上个?月|[去前]年|[二两三四五六七八九十百千万半]{1,6} ?[个只条块元岁年月天周次人名位件本张份家层楼口斤米瓶杯套间]/],
  [2, /(?<=[\p{Ll}\d,;:)] )["“(]?(?!OK\b|AI\b|TV\b)\p{Lu}\p{L}/u],
  [2, /(?:先生|女士|老师|医生|大夫|经理|教授|师傅|阿姨|叔叔)|[叫姓]做?[“「《\p{L}]|[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马]|《/u],
  [2, /\p{Script=Han}(?:市|省|大学|医院|公司|酒店|餐厅|饭店|机场|火车站|高铁站|小区)|\p{Script=Han} ?[A-Za-z]{2}/u],
  [1, /(?<=[\p{Ll}\d,;:)] )\p{Lu}\p{L}[^.!?]{0,60}(?<=[\p{Ll}\d,;:] )\p{Lu}\p{L}|《[^》]{1,40}》[^《]{0,40}《/u],
];
const EVERY_CUE = [...USER_CUES, ...ANYONES_CUES];

/** Without these words, "Do you like tea?" is no preference of the user. */
const OF_THE_USER = /我|\b(?:i|my|we|our)\b/i;
const HAN = /\p{Script=Han}/u;
/** Each further cue counts this share of the one before. */
const FURTHER_CUE = 0.6;
const BASE = 0.5;
const OPEN_QUESTION = 6;
const ASSISTANT_SHARE = 0.35;
const QUESTION_SHARE = 0.3;

/** Stems without stop words, and pairs of Chinese characters. */
export const wordsOf = (sentence: string): Set<string> => new Set(lexicalText(sentence).match(/\S{2,}|[^\s\p{Script=Han}]/gu));

function weightOf(cues: Cue[], sentence: string, base: number): number {
  const weights = cues.filter(([, words]) => words.test(sentence)).map(([weight]) => weight);
  return weights.sort((one, other) => other - one).reduceRight((sum, weight) => weight + sum * FURTHER_CUE, base);
}

/** A sentence's worth: 0 is nothing, a user's ordinary statement 0.5. A null speaker: a summary's line without one. */
export function sentenceWorth(sentence: string, speaker: "user" | "assistant" | null, isOpenQuestion = false): number {
  if (isSmallTalk(sentence)) return 0;
  if (speaker === "assistant") return weightOf(ANYONES_CUES, sentence, 0) * (isQuestion(sentence) ? QUESTION_SHARE : 1) * ASSISTANT_SHARE;
  const isBareQuestion = speaker === "user" && isQuestion(sentence) && (onlyAsks(sentence) || HAN.test(sentence));
  const worth = weightOf(isBareQuestion && !OF_THE_USER.test(sentence) ? ANYONES_CUES : EVERY_CUE, sentence, BASE);
  if (isOpenQuestion) return worth * FURTHER_CUE + OPEN_QUESTION;
  return isBareQuestion ? worth * QUESTION_SHARE : worth;
}
