import { WISHES } from "../../turn/state.ts";
import { HAN_NAME, type Kind } from "./value-kinds.ts";

/** "no": a dislike. "over": it is so no longer. */
export type Holds = "over" | "no" | "yes";

/**
 * Something that people say of themselves, in both languages. " ; " stands between two forms. In forms and lines "…" is the value and "~"
 * the thing that has it. Adverbs may stand between English words and behind 我.
 */
export interface Intent extends Partial<Record<Holds, string>> {
  topic: string;
  section: string;
  /** A value is one of a list, and stands beside the others. Else another takes its place. */
  isMany?: true;
  /** The English and the Chinese line. */
  line: string;
  dislike?: string;
  value: Kind | null;
  thing?: string;
  /** Its name for a user who wants it forgotten. */
  called?: RegExp;
  /** A question for what one line alone can tell, in words that it lacks. */
  asked?: RegExp;
}

/** What the user said about themself. */
export interface Fact extends Pick<Intent, "topic"> {
  holds: Holds;
  value: string;
  isChinese: boolean;
  /** What has the value: the cat that is called Kim. */
  thing?: string;
}

const KIN = "爸爸|妈妈|爸妈|父母|父亲|母亲|爷爷|奶奶|外公|外婆|哥哥|弟弟|姐姐|妹妹|儿子|女儿|丈夫|妻子|老公|老婆|男朋友|女朋友";
const THING = "[a-z]{2,20}(?: [a-z]{2,20})? ; \\p{Script=Han}{1,4}?";
const WORK = "(?:work|have worked|(?:am|have been|started) working)";

type More = Partial<Omit<Intent, "topic" | "section" | "value" | "line">>;
const intent = (topic: string, section: string, value: Kind | null, line: string, more: More = {}): Intent => {
  return { topic, section, value, line, ...more };
};

/** What the rules of core memory know. Wishes are read by readWish, notes by readMessage. */
export const INTENTS: readonly Intent[] = [
  intent("note", "profile", null, "Asked to remember: … ; 要记住：…", { isMany: true }),
  intent("language", WISHES, "language", "Answer in … ; 回答语言：…", {
    yes: "(?:answer|reply|respond|write|speak|talk) in … ; 用…来?(?:回答|回复|答复|交流|说话)(?:问题)? ; (?:回答|回复)用…",
  }),
  intent("manner", WISHES, "manner", "Always … ; 每次都要…", { isMany: true, yes: "… ; 回答时?…" }),
  intent("name", "profile", "name", "Name: … ; 名字：…", {
    yes: `(?:my|the) (?:full )?name is … ; i (?:am called|go by) … ; (?:please |you can )?call me … ; (?:i changed|change) my name to …
      ; 我(?:改?名?叫|姓\\p{Script=Han}{1,2}，叫)… ; 我的(?:全名|真名|名字|姓名)(?:是|叫|改成)… ; (?:你?可以|请|以后请?)?叫我…`,
    called: /^(?:my name|我的名字|我的姓名|我叫什么)$/i,
    asked: /\bmy name\b|\bam i called\b|\bwho am i\b|我叫什么|我的(?:名字|姓名)|我是谁/i,
  }),
  intent("home", "profile", "place", "Lives in … ; 住在…", {
    over: "(?:i|we) (?:do not|no longer) live in … ; 我不再?住在?…",
    yes: `(?:i|we) (?:live|settled|(?:am|are) (?:based|living)|have (?:been living|lived)) in … ; my (?:home|address) is in …
      ; (?:i|we) (?:have )?(?:moved|relocated)(?: from [\\p{L}\\s]{2,30})? to … ; change my address to … ; 我(?:住在?|定居在|搬家到|家在)…
      ; 我(?:从\\p{Script=Han}{2,6})?搬[到去来回]… ; 我在…定居 ; 我的(?:住址|地址)改[成为]…`,
    called: /^(?:my address|my home|my city|where i live|我的住址|我的地址|我住在哪里?)$/i,
    asked:
      /\b(?:do|did|are|am) (?:i|we) (?:\w+ )?(?:live|living|based)\b|\bmy (?:home|address|city|town)\b|我们?(?:现在|目前|到底|还|是)*住|我的?(?:家|住址|地址)/i,
  }),
  intent("work", "profile", "workplace", "Works at … ; 在…上班", {
    over: "i (?:(?:do not|no longer) work|quit my job) (?:at|for) … ; 我不在…(?:上班|工作) ; 我从…(?:离职|辞职)",
    yes: `i (?:${WORK}|got a (?:new )?job) (?:at|for) … ; 我在…(?:上班|工作) ; 我(?:跳槽到|入职)…`,
    called: /^(?:my (?:work|job|employer)|where i work|我的(?:工作|公司|单位)|我在哪里?(?:上班|工作))$/i,
  }),
  intent("job", "profile", "job", "Works as … ; 职业是…", { yes: `i ${WORK} as … ; 我的职业是…` }),
  intent("favourite", "preferences", "thing", "~ is … ; ~是…", {
    thing: "favou?rite [a-z]{2,20}(?: [a-z]{2,20})? ; 最喜欢的\\p{Script=Han}{1,4}?",
    yes: "my ~ is … ; 我~是…",
  }),
  intent("day", "profile", "day", "~ is on … ; ~在…", {
    thing: THING,
    yes: "my ~ is … ; my ~ is on … ; my ~ (?:was |has |has been |is )?(?:moved|changed) to … ; 我的~(?:是|在|改[到成在])…",
  }),
  intent("called", "profile", "proper", "~ is called … ; ~叫…", {
    thing: THING,
    yes: `(?:my|our) ~ is (?:called|named) … ; (?:my|our) ~'s name is … ; (?:i|we) (?:have|have got|got|adopted) an? ~ (?:called|named) …
      ; 我家?的~(?:现在|其实)?(?:的名字是|改名叫|叫)… ; 我家~叫… ; 我(?:养|有)了?一?[只条匹个]~，?叫… ; 我(?<thing>${KIN})叫(?=${HAN_NAME}$)…`,
  }),
  intent("lives", "profile", "proper place", "~ lives? in … ; ~住在…", {
    thing: `[a-z]{2,20} ; ${KIN}`,
    yes: `(?:my|our) ~ (?:lives?|(?:has |have )?(?:moved|relocated)) (?:in|to) …
      ; 我的?~(?:现在|目前|已经|上个?[月周]|去年)?(?:住在|搬[到去])…`,
  }),
  intent("allergy", "constraints", "food", "Allergic to … ; 对…过敏", {
    over: "i am (?:not|no longer) allergic to … ; 我对…不过敏 ; 我不再对…过敏",
    yes: "i am allergic to … ; i have an? (?:severe )?… allergy ; my allergy to … ; 我(?:从小)?对…(?:严重)?过敏",
    isMany: true,
  }),
  intent("diet", "constraints", "diet", "Is … ; …", {
    over: "i am (?:not|no longer) (?:an? )?… ; 我不…",
    yes: "i (?:am|became|went|have gone) (?:an? )?… ; 我(?:开始)?…",
  }),
  intent("avoids", "constraints", "food", "Does not ~ … ; 不~…", {
    thing: "eat|drink ; [吃喝]",
    over: "i ~ … again ; 我又(?:开始)?~…",
    yes: "i (?:do not|can not|never|no longer) ~ … ; 我(?:从来)?不(?:能|再)?~…",
    isMany: true,
  }),
  intent("taste", "preferences", "thing", "Likes … ; 喜欢…", {
    dislike: "Dislikes … ; 不喜欢…",
    over: "i (?:no longer|do not) (?:hate|dislike) … ; 我不再?讨厌…",
    no: `i (?:(?:do not|no longer) (?:like|enjoy|love)|hate|detest|dislike|can not stand|am tired of) …
      ; i am not (?:into|fond of|a (?:big )?fan of) … ; 我(?:不太喜欢|不再?喜欢|讨厌|受不了)… ; 我不再?爱(?=[吃喝看听玩])… ; 我对…不感兴趣`,
    yes: `i prefer …(?: (?:to|over|rather than) .{1,60})? ; i (?:have )?(?:started to )?(?:like|loved?|enjoy|adore) …
      ; i am (?:into|fond of|a (?:big )?fan of) … ; 我(?:更喜欢|喜欢上?|热爱|迷上了)… ; 我爱(?=[吃喝看听玩])… ; 我对…[很太]?感兴趣`,
    isMany: true,
    called: /^(?:what i like|my likes|my preferences|我的喜好|我的爱好)$/i,
  }),
  intent("choice", "goals", "option", "Chose … ; 选择…", {
    over: "i (?:do not|no longer) want … ; (?:我们?)?不要…",
    yes: `(?:(?:i|we|let's) (?:will )?)?(?:choose|chose|pick|picked|take|go with|go for) … ; (?:change|switch) (?:it )?to …
      ; (?:i|we) (?:would like|(?:have )?(?:decided on|switched to)) … ; (?:我们?)?(?:就|还是|决定|最后)?(?:选择?|用|要|改[成用选]|换成)…`,
  }),
];

export const TIMES = "昨天|前天|上个?(?:周|星期|月)|[去今]年|[两二三四五六七八九十\\d]{1,2}(?:天|周|个月|年)前";
const ADVERBS = "(?: (?:really|actually|also|still|just|now|absolutely|always|very|currently|particularly|finally|back|severely))*";
const CHINESE_ADVERBS = `(?:现在|目前|最近|已经|一直|特别|非常|真的|比较|其实|平时|开始|${TIMES}|[是也还就都很真最刚又超])*`;

/** A form or a line as an expression. */
interface Words {
  intent: Intent;
  holds: Holds;
  words: RegExp;
  /** It begins with its value, or nearly so, and could say anything. */
  isLoose: boolean;
}

function wordsOf(intent: Intent, holds: Holds, texts = "", isLine = false): Words[] {
  const things = intent.thing?.split(" ; ") ?? [];
  return texts.split(";").map((each) => {
    const text = each.trim();
    const isChinese = /\p{Script=Han}/u.test(text);
    const said = isChinese ? text.replace(/^我/u, `我们?${CHINESE_ADVERBS}`) : text.replaceAll(" ", `${ADVERBS} `);
    const end = isLine ? "[.。]?" : isChinese ? "了?[啊呀哦哈啦吧]?" : "";
    const whole = (isLine ? text : said).replace("~", () => `(?<thing>${things[isChinese ? 1 : 0]})`).replace("…", " ?(?<value>.+?)");
    return { intent, holds, words: new RegExp(`^${whole}${end}$`, "iu"), isLoose: /^(?:Is |.?[…~])/u.test(text) };
  });
}

const HOLDS = ["over", "no", "yes"] as const;
export const FORMS = INTENTS.flatMap((intent) => HOLDS.flatMap((holds) => (intent[holds] ? wordsOf(intent, holds, intent[holds]) : [])));
export const LINES = INTENTS.flatMap((intent) => [
  ...wordsOf(intent, "yes", intent.line, true),
  ...(intent.dislike ? wordsOf(intent, "no", intent.dislike, true) : []),
]);
export const intentOf = (topic: string): Intent | undefined => INTENTS.find((intent) => intent.topic === topic);
