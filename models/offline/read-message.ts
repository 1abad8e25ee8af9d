import { readOwnThing } from "./read-own-thing.ts";
import { LINE_BREAK, splitSentences } from "../../text/split-sentences.ts";
import { readWish } from "./read-wish.ts";

export type Topic = "name" | "home" | "taste" | "own" | "note" | "language" | "manner";

/** What the user said about themself. "no": a dislike; "over": a dislike has ended. */
export interface Fact {
  topic: Topic;
  holds: "yes" | "no" | "over";
  value: string;
  isChinese: boolean;
  /** Of `own`: the line, with "…" for the value. */
  about?: string;
}

/** Without adverbs, longer beginnings first. */
const STATEMENTS: [topic: Topic, holds: Fact["holds"], english: string[], chinese: string[]][] = [
  ["name", "yes", ["my name is", "i am called"], ["的名字是", "的名字叫", "叫"]],
  ["home", "yes", ["i live in", "we live in", "i am based in", "i moved to", "we moved to", "i have moved to"], ["住在", "搬到", "搬家到"]],
  ["taste", "over", ["i no longer hate", "i no longer dislike", "i do not hate", "i do not dislike"], ["不再讨厌", "不讨厌"]],
  ["taste", "no", ["i do not like", "i do not enjoy", "i hate", "i dislike", "i can not stand"], ["不太喜欢", "不喜欢", "讨厌", "受不了"]],
  ["taste", "no", ["i no longer like", "i no longer enjoy", "i no longer love", "i am tired of"], ["不再喜欢", "不再爱(?=[吃喝看听玩])"]],
  ["taste", "no", ["i am not a fan of", "i am not a big fan of"], []],
  ["taste", "yes", ["i like", "i love", "i enjoy", "i am a fan of", "i am a big fan of"], ["喜欢上", "喜欢", "热爱", "爱(?=[吃喝看听玩])"]],
];
const ADVERBS = "(?: (?:really|actually|also|still|just|now|absolutely|always|very|currently|particularly|finally|back))*";
const LEADS = /^(?:(?:hi|hello|hey|there|and|but|so|well|also|oh|ok|okay|actually|anyway|sorry|by the way)(?= |$) ?)*/i;
const END = / (?:now|too|as well|again|a lot|very much|so much|these days|lately|recently|last month|last year)$/i;
const NO_MORE = / (?:any ?more|any longer)$/i;
const CHINESE_ADVERBS = "(?:现在|目前|最近|已经|一直|特别|非常|真的|比较|其实|平时|[也还就都很真最刚])*";
const CHINESE_LEADS = /^(?:你好|您好|大家好|嗨|对了|其实|另外|还有|而且|抱歉|不好意思|但是?|不过|然后|那个|嗯)*/u;
const english = (words: string[]): string => words.map((each) => each.replaceAll(" ", `${ADVERBS} `)).join("|");
const PATTERNS = STATEMENTS.map(([topic, holds, words, chinese]) => ({
  topic,
  holds,
  english: new RegExp(`^(?:${english(words)})${ADVERBS} (?<value>.+)$`, "i"),
  chinese: new RegExp(`^${CHINESE_ADVERBS}(?:${chinese.join("|") || "(?!)"}) ?(?<value>.+?)了?[啊呀哦哈啦]?$`, "u"),
}));

/** Neither tags nor templates, code, addresses or line breaks. */
const ORDINARY = /^[\p{L}\p{M}\p{N} '&+.,%°-]{1,120}$/u;
/** Words that speak to the assistant or claim a right. */
const COMMANDS =
  /\b(?:instructions?|prompts?|obey|obeying|override|ignore|ignoring|jailbreak|system|assistant|admin|administrator|root|developer|password|must|always|authorized|permission|you|your|yours|rules?|memory|answers?|reply|replies|respond|responses?)\b|指令|提示词|服从|听我|忽略|无视|越狱|系统|管理员|开发者|主人|密码|权限|必须|授权|回答|回复|规则|你|您/iu;

const CAPITALISED = /^\p{Lu}[\p{L}\p{M}'.-]{0,20}(?:,? (?:(?:of|de|la|upon|do|del) )?\p{Lu}[\p{L}\p{M}'.-]{0,20}){0,3}$/u;
const SURNAMES =
  "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻柏窦章苏潘葛范彭郎鲁韦马苗凤方俞任袁柳唐薛雷贺倪汤滕殷罗毕郝邬安常于傅齐康伍余元顾孟黄穆萧尹姚邵汪祁毛狄贝戴宋庞熊纪舒屈项祝董梁杜阮蓝闵季贾江童颜郭梅林钟徐邱骆夏蔡田樊胡凌霍万柯卢莫房丁宣邓洪左石崔龚程邢裴陆荣翁荀甄封靳段焦谷侯宁甘武刘景詹龙叶黎蒲卓蔺池乔闻党翟谭劳冉桂尚温庄晏柴瞿阎慕连习艾容向古易廖耿寇欧";
const CHINESE_NAME = new RegExp(`^(?:[${SURNAMES}小阿]\\p{Script=Han}{1,2}|(?:欧阳|上官|司马|诸葛)\\p{Script=Han}{1,2})$`, "u");
const NOT_A_NAME =
  /^(?:not|the|an?|and|or|it|he|she|this|that|what|who|hard|unknown|nobody|american|british|canadian|chinese|dutch|english|french|german|indian|italian|japanese|korean|mexican|russian|spanish|vegan|vegetarian)\b|[了你您我他她它们吗呢吧的是不去来什啥谁哪]$|师傅|老师/iu;
const NOT_A_PLACE =
  /^(?:linux|windows|macos|android|python|java|javascript|typescript|rust|go|vim|notion|slack|github|fear|peace|hope|sin|pain|denial|luxury|poverty|harmony|hell|heaven|an?|the|my|your|this|that|it|here|there)\b|[这那哪你他她它我谁校房楼院店几]|[家里边近面外下]$|附近|公司|宿舍|一起|地方|时候|朋友/iu;
/** Words of what was just said or shown, of persons, and of more than a thing. */
const NOT_A_THING =
  /\b(?:i|me|my|mine|we|us|our|you|your|he|him|his|she|her|hers|its?|they|them|their|this|that|these|those|here|there|what|which|who|whom|whose|when|where|why|how|if|because|while|than|as|or|but|not|never|like|love|hate|enjoy|be|being|is|are|was|were|would|could|should|to|such|another|other|ones?|some|any|all|most|both|each|every|anything|everything|nothing|something|more|less|today|tonight|tomorrow|yesterday|now|ideas?|options?|version|plan|answer|suggestion|waiting|work|mondays?)\b|^[Tt]he (?!\p{Lu})|[你您他她它谁我这那哪此该等]|^的|什么|怎么|答案|建议|方案|想法|今天|今晚|明天|刚才|里面|一起|一样|[人的]$|不得|[做看听吃喝玩打去说]$|加班|开会|拖延/u;

const FULL_FORMS: [RegExp, string][] = [
  [/\bi'?m\b/gi, "I am"],
  [/\bi've\b/gi, "I have"],
  [/\bname's\b/gi, "name is"],
  [/\bdon'?t\b/gi, "do not"],
  [/\bcan(?:'t|not)\b/gi, "can not"],
];

function inFull(clause: string): string {
  return FULL_FORMS.reduce((full, [short, long]) => full.replace(short, long), clause);
}

/** Null: it is no plain text, or speaks to the assistant. */
function plainValue(text: string): string | null {
  const value = text.normalize("NFC").trim();
  return /[\p{L}\p{N}]/u.test(value) && ORDINARY.test(value) && !COMMANDS.test(value) ? value : null;
}

/** In a message without capitals, one small word may be a name and two a place. */
function asName(value: string, longest: number, isCasual: boolean): string {
  if (!isCasual || !/^\p{Ll}{2,20}(?: \p{Ll}{2,20})?$/u.test(value) || value.split(" ").length > longest) return value;
  return value.replace(/(?<!\S)\p{Ll}/gu, (letter) => letter.toUpperCase());
}

/** None when one of a list is no plain thing. "Cold and rainy evenings" are one. */
function readThings(value: string, isChinese: boolean): string[] {
  const parts = value.split(isChinese ? /[、和]|以及/u : /, and |, | and /);
  const things = !isChinese && !value.includes(",") && parts.some((part) => part.includes(" ")) ? [value] : parts;
  const isThing = (thing: string): boolean => !NOT_A_THING.test(thing) && (isChinese ? thing.length <= 12 : thing.split(" ").length <= 5);
  return things.length <= 5 && things.every(isThing) && !(isChinese && things.length > 1 && value.includes("的")) ? things : [];
}

function readValues(topic: Topic, value: string, { isChinese, isCasual }: { isChinese: boolean; isCasual: boolean }): string[] {
  if (topic === "taste") return readThings(value, isChinese);
  const named = asName(value, topic === "name" ? 1 : 2, isCasual);
  const isHan = /^\p{Script=Han}+$/u.test(value);
  if (topic === "home") return (isHan ? value.length <= 6 : CAPITALISED.test(named)) && !NOT_A_PLACE.test(value) ? [named] : [];
  return (isHan ? CHINESE_NAME.test(value) : CAPITALISED.test(named)) && !NOT_A_NAME.test(value) ? [named] : [];
}

/** Null: the clause says anything else. `isCasual`: the message has no capitals. `follows`: the clause before was about 我. */
export function readStatement(clause: string, { isCasual, follows }: { isCasual: boolean; follows: boolean }): Fact[] | null {
  const isChinese = /^\P{L}*\p{Script=Han}/u.test(clause);
  const said = inFull(clause.trim())
    .replace(isChinese ? CHINESE_LEADS : LEADS, "")
    .trim();
  if (said === "") return [];
  if (isChinese && !said.startsWith("我") && !follows) return null;
  const own = readOwnThing(said);
  if (own && plainValue(said) !== null) return [{ topic: "own", holds: "yes", isChinese, ...own }];
  for (const { topic, holds, ...patterns } of PATTERNS) {
    const found = (isChinese ? patterns.chinese : patterns.english).exec(isChinese ? said.replace(/^我/u, "") : said)?.groups;
    if (!found) continue;
    const told = found.value ?? "";
    const value = isChinese ? told.replace(/^了/u, "") : told.replace(END, "").replace(END, "").replace(NO_MORE, "");
    const values = readValues(topic, value, { isChinese, isCasual });
    if (values.length === 0 || values.some((one) => plainValue(one) === null)) return null;
    return values.map((one) => ({ topic, holds, value: one, isChinese }));
  }
  return null;
}

/** "Hi, I'm Ada": the name in what stands after a greeting. */
function readIntroduction(greeting: string, clause: string): Fact[] | null {
  if (!/^(?:hi|hello|hey)\b/i.test(greeting)) return null;
  const name = /^I(?:'m| am) (\p{Lu}[\p{Ll}'-]{1,20}(?: \p{Lu}[\p{Ll}'-]{1,20})?)$/u.exec(clause)?.[1];
  return name === undefined || NOT_A_NAME.test(name) ? null : [{ topic: "name", holds: "yes", value: name, isChinese: false }];
}

export type Change = { fact: Fact } | { forget: string };

/** In characters. */
const LONGEST = 300;
/** Marks of quotations, code, lists, transcripts and verses. */
const NOT_TYPED = /["“”„«»「」『』‘<>{}[\]|`*_#/\\~=:：•…()（）^$@🙄🙃—–]|\.\.|--| - |(?:^|\s)'|^[-\d]|^.{0,12}：/u;
/** Words that show quoted, reported, hypothetical or joking text. */
const FOREIGN =
  /\b(?:said|says|say|told|tells|wrote|writes|asked|thinks|according|if|unless|pretend|imagine|suppose|maybe|kidding|joke|joking|story|novel|poem|song|lyrics|script|dialogue|scene|game|role-?play|character|translate|translation|rewrite|rephrase|paraphrase|summari[sz]e|proofread|grammar|sentence|paragraph|text|letter|e-?mail|mail|quote|essay|bio|write|compose|draft|dear|regards|sincerely|ignore|instructions|prompt|system|yeah)\b|[说问写诗信梦]|如果|要是|假如|假设|假装|扮演|故事|剧本|作文|歌词|翻译|改写|润色|总结|校对|造句|语法|邮件|玩笑|骗你|呵呵|才怪|可能|也许|忽略|无视|指令|系统|此致|敬礼|尊敬/iu;

const ENGLISH_CLAUSE =
  /(?:, (?:and |but |so )?| (?:and|but) )(?=(?:i|i'm|my|we|what|which|where|who|how|can|could|would|should|do|is|please|if|she|he|they|just|or)\b)/iu;
const CHINESE_CLAUSE = /[，,；;]/u;
/** Unlike "right?", such a last clause leaves what was said before it as it is. */
const ASKS_FOR_MORE = /^(?:what|which|where|who|how|can|could|would|should)\b|^(?:什么|怎么|哪|有|能|可以|推荐|请|帮|应该|该)/iu;
const ASKS = /[?？]|[吗呢吧么]$/u;

const REMEMBER =
  /^(?:please )?(?:remember|do not forget|don't forget|keep in mind|note)(?: that)?[:,]? (?=(?:i|i'm|my|we|our)\b)|^(?:请|麻烦)?(?:帮我|你要?)?(?:记住|记一下|别忘了|不要忘记)[：，, ]*(?=我)/iu;
const FORGET =
  /^(?:please )?(?:forget|delete|erase)(?: about)?(?: that)? (?=(?:i|i'm|my|we|our|where|what|everything)\b)|^(?:请|麻烦)?(?:帮我|你)?(?:忘掉|忘了|忘记|删掉|删除)(?=我|关于我|所有|全部)/iu;

function readNote(said: string): Change[] {
  const isChinese = said.startsWith("我");
  const value = plainValue(said.replaceAll("，", " "));
  if (value === null || (isChinese ? said.length < 5 : said.split(" ").length < 4)) return [];
  return [{ fact: { topic: "note", holds: "yes", value, isChinese } }];
}

/** Null: the message is not about its writer. */
function readSentence(sentence: string, isCasual: boolean): Change[] | null {
  const asks = ASKS.test(sentence);
  const plain = sentence.replace(/[.!?。！？~～ ]{1,9}$/u, "");
  const wish = asks ? null : readWish(plain);
  if (wish) return [{ fact: wish }];
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

/** What a message changes, if it is plainly its writer's own: one short line without marks of a text from elsewhere. */
export function readMessage(message: string): Change[] {
  if (message.length > LONGEST) return [];
  const text = message
    .trim()
    .replaceAll("’", "'")
    .replace(/^(?:请?记住|(?:please )?(?:remember|note))[:：]/iu, (word) => word.slice(0, -1));
  if (LINE_BREAK.test(text) || NOT_TYPED.test(text) || !text.isWellFormed()) return [];
  const isCasual = !/\p{Lu}/u.test(text.replaceAll(/\bI\b/g, ""));
  const changes = splitSentences(text).map((sentence) => readSentence(sentence, isCasual));
  return changes.every((change) => change !== null) ? changes.flat() : [];
}
