const SURNAMES =
  "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻柏窦章苏潘葛范彭郎鲁韦马苗凤方俞任袁柳唐薛雷贺倪汤滕殷罗毕郝邬安常于傅齐康伍余元顾孟黄穆萧尹姚邵汪祁毛狄贝戴宋庞熊纪舒屈项祝董梁杜阮蓝闵季贾江童颜郭梅林钟徐邱骆夏蔡田樊胡凌霍万柯卢莫房丁宣邓洪左石崔龚程邢裴陆荣翁荀甄封靳段焦谷侯宁甘武刘景詹龙叶黎蒲卓蔺池乔闻党翟谭劳冉桂尚温庄晏柴瞿阎慕连习艾容向古易廖耿寇欧";
/** A Chinese name: 王芳, 小李, 乐乐. */
export const HAN_NAME = `(?:[${SURNAMES}小阿]\\p{Script=Han}{1,2}|(?:欧阳|上官|司马|诸葛)\\p{Script=Han}{1,2}|(?<twin>\\p{Script=Han})\\k<twin>)`;
const CAPITALISED = "\\p{Lu}[\\p{L}\\p{M}'.-]{0,20}(?:,? (?:(?:of|de|la|upon|do|del) )?\\p{Lu}[\\p{L}\\p{M}'.-]{0,20}){0,3}";
const PROPER =
  /^\p{Lu}[\p{L}'-]{0,20}(?: \p{Lu}[\p{L}'-]{0,20})?$|^(?![一个什]|.*(?:[我你您他她它了着过不没吗呢这那哪]|外卖|得很))\p{Script=Han}{1,6}$/u;
const NOT_A_PLACE =
  /^(?:linux|windows|macos|android|python|java|javascript|typescript|rust|go|vim|notion|slack|github|fear|peace|hope|sin|pain|denial|luxury|poverty|harmony|hell|heaven|pyjamas|pajamas|comfort|chaos|silence|reality|ruins|danger|\w{2,20}ly|an?|the|my|your|this|that|it|here|there|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|^[不过得够满着一两三几了]|[这那哪你他她它我谁校房楼院店几厅室床]|[家里边近面外下上中天年月]$|附近|公司|宿舍|公寓|宾馆|一起|地方|时候|朋友|装修|吃饭|收拾|隔壁|搬/iu;
/** Words for recent talk, persons, and more than a thing. */
const NOT_A_THING =
  /\b(?:i|me|my|mine|we|us|our|you|your|he|him|his|she|her|hers|its?|they|them|their|this|that|these|those|here|there|what|which|who|whom|whose|when|where|why|how|if|because|while|than|as|or|but|not|never|like|love|hate|enjoy|be|being|is|are|was|were|would|could|should|to|such|another|other|ones?|some|any|all|most|both|each|every|anything|everything|nothing|something|more|less|today|tonight|tomorrow|yesterday|now|ideas?|options?|version|plan|answer|suggestion|waiting|work|mondays?)\b|^[Tt]he (?!\p{Lu})|[你您他她它谁我这那哪此该等]|^(?:and|的)|第[一二三]|什么|怎么|答案|建议|方案|想法|今天|今晚|明天|刚才|里面|一起|一样|[人的]$|不得|[做看听吃喝玩打去说]$|加班|开会|拖延|秘密/u;
const NOT_A_FOOD =
  /\b(?:questions?|people|\w{3,6}days?|meetings?|mornings?|stupid|bad|dumb|terrible|nonsense|drama|much|out|enough|lunch|breakfast|dinner|late|alone|well|healthy)\b|周[一二三四五六日末]|上班|工作|考试|作业|老板|[饭药亏醋惊苦力]$|东西|太多|可能|皮肤/iu;

const NOT_A_NAME =
  /^(?:not|the|an?|and|or|it|he|she|this|that|what|who|hard|unknown|nobody|back|later|soon|again|tomorrow|tonight|crazy|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|bike|train|bus|car|plane|foot|maybe|when|if|at|on|american|british|canadian|chinese|dutch|english|french|german|indian|italian|japanese|korean|mexican|russian|spanish|vegan|vegetarian)\b|[了你您我他她它们吗呢吧的是不去来什啥谁哪]$|师傅|老师|^小[心声时]/iu;

/** What a value looks like, and must not hold. */
const KINDS = {
  name: [new RegExp(`^${CAPITALISED}$|^${HAN_NAME}$`, "u"), NOT_A_NAME],
  place: [new RegExp(`^${CAPITALISED}$|^\\p{Script=Han}{2,6}$`, "u"), NOT_A_PLACE],
  proper: PROPER,
  "proper place": [PROPER, NOT_A_PLACE],
  day: /^(?:(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)?(?: \p{L}{3,9})?|\p{L}{3,9} \d{1,2}(?:st|nd|rd|th)?|下?(?:周|星期|礼拜)[一二三四五六日天]|[一二三四五六七八九十\d]{1,2}月[一二三四五六七八九十\d]{1,3}[号日])$/iu,
  workplace:
    /^(?!(?:it|that|this|them|him|her|me|myself|you|home|night|once|least|all|hours?|days?|weeks?|months?|years?|ages|money|free|fun|peace|food|height|an? (?:living|while))\b|不|.*(?:\b(?:hours?|days?|weeks?|months?|years?|from|with|without|because|since|until|when|then|as)\b|[这那哪家找换想忙路]|[年天月]$|新公司|一起|考虑|准备|努力|开始))(?:the |a |an )?[\p{L}\p{N}&'-]{2,20}(?: [\p{L}\p{N}&'-]{2,20}){0,3}$/iu,
  job: [/^an? (?!team|group|whole|kid|child)[a-z]{3,20}(?: [a-z]{3,20})?$|^\p{Script=Han}{2,6}$/u, NOT_A_THING],
  thing: [/^\p{Script=Han}.{0,11}$|^(?!\p{Script=Han})\S+(?: \S+){0,4}$/u, NOT_A_THING],
  food: [/^\p{Script=Han}.{0,11}$|^(?!\p{Script=Han})\S+(?: \S+){0,2}$/u, NOT_A_THING, NOT_A_FOOD],
  diet: /^(?:vegan|vegetarian|pescatarian|(?:lactose|gluten|fructose) intolerant|吃素|(?:乳糖|麸质|果糖)不耐受)$/i,
  option: /^(?:(?:plan|option|version|variant) (?:[a-z]|\d{1,2})|(?:方案|选项|计划|版本) ?[a-z\d一二三四五])$/i,
  language:
    /^(?:English|Chinese|Mandarin|German|French|Spanish|Italian|Portuguese|Dutch|Russian|Polish|Turkish|Arabic|Hindi|Japanese|Korean|Vietnamese|Thai|中文|汉语|普通话|英文|英语|德语|法语|西班牙语|葡萄牙语|意大利语|俄语|阿拉伯语|日语|日文|韩语)$/i,
  manner:
    /^(?:(?:give|name|cite|show|tell|mention|state|include) (?:the |your )?(?:sources?|references?)|(?:answer|reply|respond) (?:briefly|concisely|in (?:short sentences|one sentence|a few words|bullet points))|be (?:brief|concise)|keep (?:your |the )?answers (?:short|brief)|use (?:bullet points|tables)|(?:给出|注明|说明|标明|附上|提供)(?:来源|出处)|(?:简短|简洁|简单)地?(?:回答|回复)|(?:回答|回复)(?:简短|简洁|简单)(?:一?[些点])?)$/iu,
  /** The user's own things, not the talk's. */
  own: /^(?!.*[是在和不没]|(?:questions?|points?|answers?|problems?|guess|message|text|story|character|avatar|persona|hero|example|code|file|function|variable|class|name|day|turn|pick|choice|问题|意思|回答|答案|故事|角色|主角|家|名字|全名|人)$)/iu,
} satisfies Record<string, RegExp | RegExp[]>;

export type Kind = keyof typeof KINDS;

export function isOf(kind: Kind, value: string): boolean {
  const [looks, ...not] = [KINDS[kind]].flat();
  return looks?.test(value) === true && !not.some((words) => words.test(value));
}

/** The most words of a name in a message without capitals. */
export const SMALL_WORDS: Partial<Record<Kind, number>> = { name: 1, proper: 1, place: 2 };
