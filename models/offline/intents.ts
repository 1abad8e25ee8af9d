import { WISHES } from "../../turn/state.ts";
import { HAN_NAME, type Kind } from "./value-kinds.ts";

/** "no": a dislike. "over": no longer so. */
export type Holds = "over" | "no" | "yes";

/**
 * What people say of themselves, in both languages. " ; " stands between two forms, "!" before one that tells a change, and "%" where "not"
 * may stand. "…" is the value and "~" its thing. Adverbs may stand between English words and after 我.
 */
export interface Intent extends Partial<Record<Holds, string>> {
  topic: string;
  section: string;
  /** A value joins a list. Otherwise it replaces the old one. */
  isMany?: true;
  /** The English and the Chinese line, and those of a dislike. */
  line: string;
  value: Kind | null;
  thing?: string;
  /** A question that one line alone can answer, in words that it lacks; or its name for forgetting it. */
  asked?: RegExp;
  /** The name alone. */
  called?: RegExp;
}

export interface Fact {
  intent: Intent;
  holds: Holds;
  value: string;
  isChinese: boolean;
  thing: string;
  isChange?: boolean;
}

const KIN = "爸爸|妈妈|爸妈|父母|父亲|母亲|爷爷|奶奶|外公|外婆|哥哥|弟弟|姐姐|妹妹|儿子|女儿|丈夫|妻子|老公|老婆|男朋友|女朋友";
const THING = "[a-z]{2,20}(?: [a-z]{2,20})? ; \\p{Script=Han}{1,4}?";

const intent = (topic: string, section: string, value: Kind | null, line: string, more?: Partial<Intent>): Intent => {
  return { topic, section, value, line, ...more };
};

const list = (...row: Parameters<typeof intent>): Intent => ({ ...intent(...row), isMany: true });

/** What the user wants kept in their own words, read by readMessage. */
export const NOTE = list("note", "profile", null, "Asked to remember: … ; 要记住：…");

/** What the rules of core memory know. readMessage reads wishes. */
export const INTENTS: readonly Intent[] = [
  NOTE,
  intent("language", WISHES, "language", "Answer in … ; 回答语言：…", {
    yes: "(?:answer|reply|respond|write|speak|talk) in … ; 用…来?(?:回答|回复|答复|交流|说话)(?:问题)? ; (?:回答|回复)用…",
  }),
  list("manner", WISHES, "manner", "Always … ; 每次都要…", { yes: "… ; 回答时?…" }),
  intent("name", "profile", "name", "Name: … ; 名字：…", {
    yes: `(?:my|the) (?:full )?name is … ; i (?:am called|go by) … ; (?:please |you can )?call me … ; !(?:i changed|change) my name to …
      ; !我改名?叫… ; 我(?:名?叫|姓\\p{Script=Han}{1,2}，叫)… ; !我的(?:名字|姓名)改成… ; 我的(?:全名|真名|名字|姓名)[是叫]… ; (?:你?可以|请|以后请?)?叫我…`,
    asked: /\bmy name\b|\bam i called\b|\bwho am i\b|我叫什么|我的(?:名字|姓名)|我是谁/i,
  }),
  intent("home", "profile", "place", "Lives in … ; 住在…", {
    yes: `(?:i|we) %(?:live?|settled) in … ; i am based in … ; my (?:home|address) is in … ; 我%住在?… ; 我(?:定居在|家在)… ; 我在…定居
      ; !(?:i|we) (?:moved|relocated)(?: from [\\p{L}\\s]{2,30})? to … ; !change my address to … ; !我的(?:住址|地址)改[成为]…
      ; !我(?:从\\p{Script=Han}{2,6})?搬(?:家到|[到去来回])…`,
    asked:
      /\b(?:(?:do|did|are|am|where) (?:i|we) (?:\w+ )?(?:live|living|based)|my (?:home|address|city|town))\b|我[们现在目前到底还是]*住(?:在哪里?)?|我的?(?:家|[住地]址)/i,
  }),
  intent("work", "profile", "workplace", "Works at … ; 在…上班", {
    over: "i quit my job (?:at|for) … ; 我从…(?:离职|辞职)",
    yes: "i %work (?:at|for) … ; !i (?:started working|got a (?:new )?job) (?:at|for) … ; 我%在…(?:上班|工作) ; !我(?:跳槽到|入职)…",
    called: /my (?:work|job|employer)|where i work|我的(?:工作|公司|单位)|我在哪里?(?:上班|工作)/i,
  }),
  intent("job", "profile", "job", "Works as … ; 职业是…", { yes: "i %work as … ; !i started working as … ; 我的职业是…" }),
  intent("favourite", "preferences", "thing", "~ is … ; ~是…", {
    thing: "favou?rite \\w+(?: \\w+)? ; 最喜欢的.{1,4}?",
    yes: "my ~ is … ; 我~是…",
  }),
  intent("day", "profile", "day", "~ is on … ; ~在…", {
    thing: THING,
    yes: "my ~ is … ; my ~ is on … ; !my ~ (?:(?:was|is) )?(?:moved|changed) to … ; !我的~改[到成在]… ; 我的~[是在]…",
  }),
  intent("called", "profile", "proper", "~ is called … ; ~叫…", {
    thing: THING,
    yes: `(?:my|our) ~ is (?:called|named) … ; (?:my|our) ~'s name is … ; (?:i|we) (?:have|have got|got|adopted) an? ~ (?:called|named) …
      ; !我家?的~改名叫… ; 我家?的~(?:现在|其实)?(?:的名字是|叫)… ; 我家~叫… ; 我(?:养|有)了?一?[只条匹个]~，?叫… ; 我(?<thing>${KIN})叫(?=${HAN_NAME}$)…`,
  }),
  intent("lives", "profile", "proper place", "~ lives? in … ; ~住在…", {
    thing: `[a-z]{2,20} ; ${KIN}`,
    yes: `(?:my|our) ~ lives? in … ; !(?:my|our) ~ (?:moved|relocated) to … ; 我的?~(?:现在|目前|已经)?住在…
      ; !我的?~(?:现在|已经|上个?[月周]|去年)?搬[到去]…`,
  }),
  list("allergy", "constraints", "food", "Allergic to … ; 对…过敏", {
    yes: "i am %allergic to … ; i have an? (?:severe )?… allergy ; my allergy to … ; 我(?:从小)?%对…(?:严重)?过敏 ; 我对…%过敏",
  }),
  intent("diet", "constraints", "diet", "Is … ; …", { yes: "i am %(?:an? )?… ; !i (?:became|went|gone) (?:an? )?… ; 我%…" }),
  list("avoids", "constraints", "food", "Does not ~ … ; 不~…", {
    thing: "eat|drink ; [吃喝]",
    over: "i ~ … again ; 我又(?:开始)?~…",
    yes: "i (?:do not|can(?: not|not|'t)|never|no longer) ~ … ; 我(?:从来)?不(?:能|再)?~…",
  }),
  list("taste", "preferences", "thing", "Likes … ; 喜欢… ; Dislikes … ; 不喜欢…", {
    no: "i %(?:hate|detest|dislike) … ; i (?:can(?: not|not|'t) stand|am tired of) … ; 我%(?:讨厌|受不了)…",
    yes: `i prefer …(?: (?:to|over|rather than) .{1,60})? ; i %(?:started to )?(?:like|loved?|enjoy|adore) …
      ; i am %(?:into|fond of|a (?:big )?fan of) … ; 我%(?:更喜欢|喜欢上?|热爱|迷上了)… ; 我%爱(?=[吃喝看听玩])… ; 我对…[很太]?%感兴趣`,
    called: /what i like|my likes|my preferences|我的喜好|我的爱好/i,
  }),
  intent("choice", "goals", "option", "Chose … ; 选择…", {
    yes: `(?:(?:i|we|let's)(?:'ll| will)? )?(?:choose|chose|pick|picked|take|go with|go for) … ; !(?:change|switch) (?:it )?to … ; i %want …
      ; (?:i|we)(?:'d like| would like| decided on) … ; !(?:i|we) switched to … ; !(?:我们?)?(?:改[成用选]|换成)… ; (?:我们?)?(?:就|还是|决定|最后)?%(?:选择?|用|要)…`,
  }),
];

/** Words around any form by which it tells a change. */
export const OTHERWISE = /\b(?:now|wrong|actually|instead)\b|现在|错/iu;

const ADVERBS =
  "(?: (?:really|actually|also|still|just|now|absolutely|always|very|currently|particularly|finally|back|severely|have|has|been))*";
const TIMES = "昨天|前天|上个?(?:周|星期|月)|[去今]年|[两二三四五六七八九十\\d]{1,2}(?:天|周|个月|年)前";
const CHINESE_ADVERBS = `(?:现在|目前|最近|已经|一直|特别|非常|真的|比较|其实|平时|开始|${TIMES}|[是也还就都很真最刚又超])*`;

export const negated = ({ intent, holds }: Pick<Fact, "intent" | "holds">): Holds => (intent.no && holds === "yes" ? "no" : "over");

/** Forms, their opposites or lines as expressions. A loose one begins with its value and could say anything. */
const wordsOf = (intent: Intent, said: Holds, texts = "", as: "form" | "not" | "line" = "form") =>
  texts.split(/\s{1,9}; /).flatMap((marked, index) => {
    if (marked === "" || (as === "not" && !marked.includes("%"))) return [];
    const isChinese = /\p{Script=Han}/u.test(marked);
    const text = marked.replace("!", "").replace("%", as !== "not" ? "" : isChinese ? "不[再太]?" : "(?:do not|not|no longer) ");
    const spread = isChinese ? text.replace(/^我/u, `(?:${TIMES})?我们?${CHINESE_ADVERBS}`) : text.replaceAll(" ", `${ADVERBS} `);
    const thing = intent.thing?.split(" ; ")[isChinese ? 1 : 0];
    const whole = (as === "line" ? text : spread).replace("~", () => `(?<thing>${thing})`).replace("…", " ?(?<value>.+?)");
    const words = new RegExp(`^${whole}${as === "line" ? "[.。]?" : isChinese ? "了?[啊呀哦哈啦吧]?" : ""}$`, "iu");
    const holds = as === "not" ? negated({ intent, holds: said }) : as === "line" && index > 1 ? "no" : said;
    return [{ intent, holds, words, isChange: holds !== "yes" || marked.startsWith("!"), isLoose: /^(?:Is |.?[…~])/u.test(text) }];
  });

const HOLDS = ["over", "no", "yes"] as const;
export const FORMS = INTENTS.flatMap((one) =>
  (["not", "form"] as const).flatMap((as) => HOLDS.flatMap((holds) => wordsOf(one, holds, one[holds], as))),
);
export const LINES = INTENTS.flatMap((one) => wordsOf(one, "yes", one.line, "line"));
