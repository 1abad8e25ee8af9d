import { plainValue, type Fact } from "./fact.ts";

/** How a statement begins, without 我 and adverbs. Longer ones first. */
const OPENINGS: [words: string, topic: Fact["topic"], holds: Fact["holds"]][] = [
  ["的名字是", "name", "yes"],
  ["的名字叫", "name", "yes"],
  ["叫", "name", "yes"],
  ["居住在", "home", "yes"],
  ["住在", "home", "yes"],
  ["搬到", "home", "yes"],
  ["搬家到", "home", "yes"],
  ["不再喜欢", "taste", "over"],
  ["不太喜欢", "taste", "no"],
  ["不喜欢", "taste", "no"],
  ["讨厌", "taste", "no"],
  ["受不了", "taste", "no"],
  ["喜欢上", "taste", "yes"],
  ["喜欢", "taste", "yes"],
  ["热爱", "taste", "yes"],
  ["爱", "taste", "yes"],
];
const ADVERBS = [
  "现在",
  "目前",
  "最近",
  "已经",
  "一直",
  "特别",
  "非常",
  "真的",
  "比较",
  "其实",
  "平时",
  "也",
  "还",
  "就",
  "都",
  "很",
  "真",
  "最",
  "刚",
];
const LEADS = [
  "你好",
  "您好",
  "大家好",
  "嗨",
  "对了",
  "其实",
  "另外",
  "还有",
  "而且",
  "但是",
  "但",
  "不过",
  "然后",
  "顺便说一下",
  "那个",
  "嗯",
];
const SURNAMES =
  "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻柏窦章苏潘葛范彭郎鲁韦马苗凤方俞任袁柳唐薛雷贺倪汤滕殷罗毕郝邬安常于傅齐康伍余元顾孟黄穆萧尹姚邵汪祁毛狄贝戴宋庞熊纪舒屈项祝董梁杜阮蓝闵季贾江童颜郭梅林钟徐邱骆夏蔡田樊胡凌霍万柯卢莫房丁宣邓洪左石崔龚程邢裴陆荣翁荀甄封靳段焦谷侯宁甘武刘景詹龙叶黎蒲卓蔺池乔闻党翟谭劳冉桂尚温庄晏柴瞿阎慕连习艾容向古易廖耿寇欧";
const NAME = new RegExp(`^(?:[${SURNAMES}]\\p{Script=Han}{1,2}|[小阿]\\p{Script=Han}|(?:欧阳|上官|司马|诸葛)\\p{Script=Han}{1,2})$`, "u");
const LATIN_NAME = /^\p{Lu}[\p{L}'-]{0,20}(?: \p{Lu}[\p{L}'.-]{0,20}){0,2}$/u;
const PLACE = /^(?:\p{Script=Han}{2,6}|\p{Lu}[\p{L}'-]{0,20}(?: \p{Lu}[\p{L}'-]{0,20}){0,3})$/u;
const NOT_A_PLACE = /[这那哪你他她它我谁校房楼院店几]|[家里边近面外下]$|家里|附近|公司|宿舍|一起|地方|时候|朋友/u;
const NOT_A_NAME = /[了你您我他她它们吗呢吧的是不去来什啥谁哪小]$|师傅|老师/u;
const NOT_A_THING =
  /[你您他她它谁我这那哪此该等]|^的|什么|怎么|答案|建议|方案|想法|今天|今晚|明天|现在|刚才|里面|一起|一样|人$|的$|不得|[做看听吃喝玩打去说]$|加班|开会|拖延/u;

const afterAny = (text: string, beginnings: readonly string[]): string => {
  const beginning = beginnings.find((start) => text.startsWith(start));
  return beginning === undefined ? text : afterAny(text.slice(beginning.length).trimStart(), beginnings);
};

function isThing(value: string): boolean {
  return value.length > 0 && value.length <= 12 && !NOT_A_THING.test(value);
}

function readValues(topic: Fact["topic"], opening: string, value: string): string[] {
  if (topic === "taste") {
    const things = value.split(/[、和]|以及/u);
    const isList = things.length > 1 && value.includes("的");
    const isPlain = !isList && (opening !== "爱" || /^[吃喝看听玩]/u.test(value));
    return isPlain && things.every(isThing) ? things : [];
  }
  if (topic === "home") return PLACE.test(value) && !NOT_A_PLACE.test(value) ? [value] : [];
  if (LATIN_NAME.test(value)) return [value];
  const isName = opening === "叫" ? NAME.test(value) : /^\p{Script=Han}{1,4}$/u.test(value);
  return isName && !NOT_A_NAME.test(value.slice(-1)) ? [value] : [];
}

/** The facts of one clause such as 我住在上海; null when it says anything else. `follows`: the clause before was about 我. */
export function readChinese(clause: string, follows: boolean): Fact[] | null {
  const plain = afterAny(clause.trim(), LEADS);
  if (plain === "") return [];
  if (!plain.startsWith("我") && !follows) return null;
  const words = afterAny(plain.startsWith("我") ? plain.slice(1) : plain, ADVERBS);
  const found = OPENINGS.find(([opening]) => words.startsWith(opening));
  if (!found) return null;
  const [opening, topic, said] = found;
  const rest = words
    .slice(opening.length)
    .trim()
    .replace(/[啊呀哦哈啦]$/u, "");
  const isOver = rest.endsWith("了");
  const value = (isOver ? rest.slice(0, -1) : rest).replace(/^[了]/u, "");
  const values = readValues(topic, opening, value);
  if (values.length === 0 || values.some((one) => plainValue(one) === null)) return null;
  const holds = said === "no" && isOver ? "over" : said;
  return values.map((one) => ({ topic, holds, value: one, isChinese: true }));
}
