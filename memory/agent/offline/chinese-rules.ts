import {
  anyChineseName,
  chineseAge,
  chineseAim,
  chineseAllergens,
  chineseCity,
  chineseDay,
  chineseEmployer,
  chineseFoods,
  chineseName,
  chineseOrigin,
  chinesePlace,
  chineseText,
  chineseThing,
  chineseThings,
} from "./chinese-values.ts";
import { makeRules } from "./fact-rule.ts";
import { CHINESE_OCCUPATION } from "./occupations.ts";
import { ROLES } from "./relation-roles.ts";

const ADVERBS =
  "(?:现在|目前|最近|如今|已经|一直|也|还|就|都|真的|真|其实|特别|非常|很|超级|超|比较|更|挺|蛮|尤其|从来|从|一向|平时|个人|是真的|刚刚|刚|又|正在|正|终于|实在|确实|自己|天生|主要|通常|一般|先天|有点|对)*";
const WHATEVER = (): string[] => [""];
const SPORTS = "足球|篮球|排球|网球|羽毛球|乒乓球|棒球|音乐|电影|历史|动漫|科幻|军事|美食|书|摇滚|推理";
const PLAN = "(?:想要?|打算|计划|准备|希望能?|希望可以|决定要?|的计划是)";
const AIM =
  "(?:(?:今年|明年|以后|将来|有一天|年底前|未来)(?:要|内|能)?)?(?:学习?|成为|当一?[名个位]|考[研博上公取过]|考个?驾|减肥|减重|减掉|瘦|戒|跑完|攒钱|攒够|存钱|存够|买房|买车|创业|写一?[本部]|提高|提升|练|移民|出国|留学|开一?家|开个|通过|读完|读研|读博|转行|转到|换个?工作|自学|养成|坚持)";
const DISEASE =
  "(?:[12一二]型)?糖尿病|高血压|低血压|心脏病|哮喘|癫痫|痛风|胃病|高血脂|抑郁症|焦虑症|关节炎|偏头痛|甲亢|甲减|色盲|色弱|近视|乳糖不耐(?:受)?症?|鼻炎";

const PLACEHOLDERS: [RegExp, string][] = [
  [/\{I\}/g, `我(?:本人)?${ADVERBS}`],
  [/\{adverbs\}/g, ADVERBS],
  [/\{value\}/g, "(?<value>.+?)"],
  [/\{role\}/g, `(?<role>${ROLES.chinese})`],
  [/\{aim\}/g, `(?<value>${AIM}.*)`],
  [/\{occupation\}/g, `(?<value>(?!.*[我你他她])[^，。]{0,8}?${CHINESE_OCCUPATION.source.replace(/\$$/, "")})`],
];

/** The expression for a clause that is all of the words given; {I} is 我 with adverbs. */
function chinesePattern(words: string): RegExp {
  const source = PLACEHOLDERS.reduce((text, [placeholder, expression]) => text.replace(placeholder, expression), words);
  return new RegExp(`^${source}[啊呀哦哈啦嘛喔哟的呢~～!！。.…\\s]*$`, "iu");
}

/** What a user says of themself in Chinese. */
export const CHINESE_RULES = makeRules(chinesePattern, [
  ["name", "{I}(?:的名字)?叫做?{value}", "名字：{value}。", chineseName],
  ["name", "我的(?:名字|姓名|大名|真名)(?:叫|是){value}", "名字：{value}。", anyChineseName],
  ["name", "我(?:不叫|的名字不是|的名字不叫){value}", "", anyChineseName],
  [
    "nickname",
    "(?:你|您|大家|朋友们?|请|都|可以|就|直接|他们)*叫我{value}(?:就行|就好|就可以|吧|即可|好了)*(?:了)?",
    "称呼：{value}。",
    chineseName,
  ],

  ["home", "{I}(?:住在|住|居住在|定居在?){value}(?:了)?", "住在{value}。", chinesePlace],
  ["home", "{I}在{value}(?:定居|居住|生活)了?", "住在{value}。", chinesePlace],
  ["home", "{I}(?:搬家?[到去来]|搬回)了?{value}(?:了|住了|生活了)?", "住在{value}。", chinesePlace],
  ["home", "{I}(?:不住在?|不在|搬离|搬出|离开)了?{value}(?:住|生活)?了?", "", chinesePlace],
  ["origin", "{I}(?:是|来自)(?<value>.+?)人", "来自{value}。", chineseOrigin],
  ["origin", "{I}(?:来自|(?:的)?老家(?:在|是)|的家乡(?:在|是)){value}", "来自{value}。", chinesePlace],
  ["upbringing", "{I}(?:在|从小在){value}长大", "在{value}长大。", chinesePlace],
  ["age", "{I}(?:今年|满|已满)*(?:是)?(?<value>(?:\\d{1,3}|[一二三四五六七八九十]{1,4})岁)(?:了)?", "年龄：{value}。", chineseAge],
  ["birthday", "我(?:的)?生日(?:是|在)?{value}", "生日：{value}。", chineseDay],

  ["job", "{I}(?:是|在做|做|当|当上了?|成了|成为)(?:了)?(?:一?[名个位])?{occupation}(?:了)?", "职业：{value}。", chineseText],
  ["job", "我(?:的)?(?:工作|职业)是{occupation}", "职业：{value}。", chineseText],
  ["job", "{I}(?:不是|不当|不做){occupation}了?", "", chineseText],
  ["job", "{I}(?:换了?工作|换了?一?份工作|跳槽|辞职|离职|失业|被裁|被裁员|退休)了?", "", WHATEVER],
  ["employer", "{I}(?:换了?工作|换了?一?份工作|跳槽|辞职|离职|失业|被裁|被裁员|退休)了?", "", WHATEVER],
  ["employer", "{I}在{value}(?:工作|上班|任职|就职)", "在{value}工作。", chineseEmployer],
  ["workplace", "{I}在{value}(?:工作|上班)", "在{value}工作。", chineseCity],
  ["employer", "{I}(?:从)?(?:离开了?|不在){value}(?:工作|上班|离职)?了?", "", chineseEmployer],
  ["study", "{I}(?:在.{2,10}?)?(?:学|读|念|学习|的专业是|专业是|主修){value}(?:专业)", "专业：{value}。", chineseThing],
  ["study", "我(?:的)?专业是{value}", "专业：{value}。", chineseThing],

  ["favourite", "我最(?:喜欢|爱|喜爱)的(?<kind>[^，。是]{1,6}?)(?:就是|是){value}", "最喜欢的{kind}：{value}。", chineseThing],
  ["prefer", "(?:.*)?{I}更(?:喜欢|爱|偏爱){value}", "更喜欢{value}。", chineseThing],
  [
    "taste",
    "(?!.*更(?:喜欢|爱)){I}(?:最)?(?:喜欢上?|爱上|喜爱|热爱|钟爱|迷上|享受)了?(?<value>(?!的|了).+)",
    "喜欢{value}。",
    chineseThings,
  ],
  ["taste", "{I}(?:最)?爱(?<value>(?:吃|喝|看|听|玩|打|跑|读|写|逛|运动|旅行|旅游|唱|跳|画|做).*)", "喜欢{value}。", chineseThings],
  ["taste", "{I}对{value}(?:也|都|很|非常|特别|挺|还)*(?:感兴趣|有兴趣|着迷)", "喜欢{value}。", chineseThings],
  ["taste", `{I}是一?个?(?:忠实的?|超级|资深)?(?<value>${SPORTS})(?:迷|爱好者|粉丝|控)`, "喜欢{value}。", chineseThings],
  ["taste", "{I}(?:不太|不怎么|不是很|不大|不|并不|不是太)(?:喜欢|爱)(?<value>.+(?<!了))", "不喜欢{value}。", chineseThings, "no"],
  ["taste", "{I}(?:最)?(?:讨厌|受不了|厌恶|反感|最怕|害怕|吃不惯|吃不了)(?<value>.+(?<!了))", "不喜欢{value}。", chineseThings, "no"],
  ["taste", "{I}(?:不太|不怎么|不|不再|再也不|没那么)(?:喜欢|爱|讨厌){value}了", "", chineseThings],
  ["taste", "{I}不再(?:喜欢|爱|讨厌){value}", "", chineseThings],
  ["taste", "(?:我)?(?:对)?{value}我?(?:已经|都|早就)*(?:看腻|听腻|吃腻|玩腻|腻|厌倦|没兴趣|不感兴趣|没有兴趣)了", "", chineseThings],
  ["taste", "我(?:已经|都|早就)*(?:看腻|听腻|吃腻|喝腻|玩腻|腻|厌倦|厌烦)了{value}(?:了)?", "", chineseThings],

  ["allergy", "{I}(?:对)?{value}(?:严重)?过敏", "对{value}过敏。", chineseAllergens],
  ["allergy", "{I}(?:对)?{value}(?:不|不再)过敏了?", "", chineseThings],
  ["allergy", "{I}(?:不|不再)对{value}过敏了?", "", chineseThings],
  [
    "diet",
    "{I}(?:是一?个?)?(?:吃|改吃|开始吃|坚持吃)?(?<value>素|纯素)(?:食者|食主义者|食|的)?(?:了)?",
    "吃{value}。",
    (caught) => (/^纯?素$/u.test(caught) ? [caught] : []),
  ],
  ["diet", "{I}(?:不|不再)吃(?<value>素|纯素)(?:食)?了?", "", () => ["素"]],
  ["avoids", "{I}(?:不|不能|不再|不敢|再也不|没法|从不)吃(?<value>.+?)(?:了)?", "不吃{value}。", chineseFoods],
  ["avoids", "{I}(?:不|不能|不再|不敢|再也不|没法|从不)喝(?<value>.+?)(?:了)?", "不喝{value}。", chineseFoods],
  ["avoids", "{I}戒(?<value>酒|烟|糖|咖啡)了", "不碰{value}。", chineseText],
  ["avoids", "{I}(?:开始|能|可以)*(?:吃|喝){value}了", "", chineseFoods],
  ["diet", "{I}(?:开始|能|可以)*吃(?:肉|荤)了", "", WHATEVER],
  ["condition", `{I}(?:有|患有|得了|患|确诊了?|被确诊为?)(?<value>${DISEASE})(?:了)?`, "有{value}。", chineseText],
  [
    "condition",
    "{I}(?:是)?(?<value>乳糖不耐受?|麸质不耐受?)(?:者|的)?",
    "{value}。",
    (caught) => (caught.includes("不耐") ? [caught] : []),
  ],

  ["goal", `{I}${PLAN}{aim}`, "想{value}。", chineseAim],
  ["goal", "我(?:今年|明年|现在|最大|人生|长期|的)*的?(?:目标|梦想|愿望|理想|心愿)(?:就)?是{value}", "目标：{value}。", chineseAim],
  [
    "goal",
    "我(?:现在|目前|最近|正|正在|一直)*在?(?:自?学)(?:习)?(?<value>[^，。习会校]{1,8}(?:语|文|琴|吉他|编程|画|书法|游泳|钢琴|开车|舞|做饭|摄影|唱歌|小提琴|瑜伽|滑雪))",
    "在学{value}。",
    chineseAim,
  ],
  ["goal", "{I}(?:不|不再|不打算)(?:想|打算|准备)?{aim}", "", chineseAim],
  ["goal", "{I}放弃了?{value}(?:了)?", "", chineseAim],

  [
    "relation",
    "(?:我|我的|我家的?){role}(?:的名字)?(?:叫做?|是叫|名叫|名字是|名字叫|的名字是){value}",
    "{role}：{value}。",
    anyChineseName,
  ],
  [
    "relation",
    "(?:我|我的){role}(?<value>[小阿]\\p{Script=Han}|\\p{Lu}\\p{Ll}+)(?=喜欢|在|是|今年|也|很|想|住|要|来|不|最近|今天|爱|对).*",
    "{role}：{value}。",
    anyChineseName,
  ],
  ["relation", "{I}有(?:一?[个位只条名]|两[个只])?{role}(?:名?叫做?){value}", "{role}：{value}。", anyChineseName],
  ["relation", "{value}是(?:我|我的){role}", "{role}：{value}。", chineseName],
  ["relation", "{I}(?:和|跟){role}?(?:分手|离婚)了", "", WHATEVER],
  ["relation", "{I}(?:分手|离婚)了", "", WHATEVER],
]);
