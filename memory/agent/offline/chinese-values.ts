import { cleanValue } from "./clean-value.ts";
import type { ReadValues } from "./fact-rule.ts";
import { splitThings } from "./split-things.ts";

const SURNAMES =
  "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳唐薛雷贺倪汤滕殷罗毕郝邬安常乐于傅齐康伍余元顾孟平黄穆萧尹姚邵汪祁毛狄米贝明臧戴宋庞熊纪舒屈项祝董梁杜阮蓝闵季贾路江童颜郭梅林钟徐邱骆高夏蔡田樊胡凌霍万柯卢莫房裘解应宗丁宣邓洪包左石崔龚程邢裴陆荣翁荀甄曲封靳段巫焦谷车侯全班仇宁甘武符刘景詹龙叶司黎白蒲卓蔺池乔闻党翟谭劳冉桑桂尚温庄晏柴瞿阎慕连习艾容向古易廖耿满匡文寇欧";
const NAME = new RegExp(
  `^(?:[${SURNAMES}](?!师傅|老师)\\p{Script=Han}{1,2}|(?:小|阿|老|大)\\p{Script=Han}{1,2}|(\\p{Script=Han})\\1|(?:欧阳|上官|司马|诸葛|东方|皇甫|尉迟)\\p{Script=Han}{1,2})$`,
  "u",
);
const NOT_NAMES =
  /[了你您我他她它吗呢吧的是不去来]|^(?:小时|小姐|小孩|老师|老板|老婆|老公|大家|大夫|大哥|大姐|车子|水果|外卖|哥哥|姐姐|弟弟|妹妹|爸爸|妈妈|爷爷|奶奶|叔叔|宝宝|谢谢|慢慢|天天|常常|刚刚|阿姨|常客|服务|高中|明白)|(?:师傅|生|员|迷)$/u;
const LATIN_NAME = /^\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'.-]*){0,2}$/u;
const PLACE = /^(?:\p{Script=Han}{2,9}|\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*){0,3})$/u;
const NOT_PLACES =
  /[这那哪你他她它我]|家$|家里|酒店|宾馆|宿舍|公司|医院|院$|楼|学校|附近|旁边|里面|隔壁|一起|对面|下面|上面|房|外面|公寓|国外|乡下|农村|城里|郊区|市中心|地方|海边|一个|时候|新|单位|系统|电脑|手机|云|线上|服务器|这里|老地方|下来|[中里上]$/u;
const CITIES =
  /^(?:北京|上海|广州|深圳|天津|重庆|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|大连|厦门|福州|宁波|无锡|合肥|济南|沈阳|哈尔滨|长春|昆明|贵阳|南宁|海口|三亚|兰州|西宁|银川|乌鲁木齐|拉萨|太原|石家庄|南昌|珠海|东莞|佛山|香港|澳门|台北|高雄|新加坡|东京|大阪|首尔|纽约|伦敦|巴黎|柏林|悉尼|硅谷|\p{Script=Han}{1,6}(?:市|省|县|区))$/u;
const REGIONS =
  /^(?:东北|华北|内蒙古?|四川|湖南|湖北|广东|广西|云南|贵州|江苏|浙江|安徽|福建|江西|山东|山西|河南|河北|陕西|甘肃|青海|宁夏|新疆|西藏|海南|辽宁|吉林|黑龙江|台湾|日本|越南|印度|马来西亚|加拿大|澳大利亚|意大利|俄罗斯|西班牙|墨西哥|巴西|(?!外|哪|各|我|出|爱)\p{Script=Han}{1,4}国|\p{Script=Han}{1,4}[州岛])$/u;
const POINTS_BACK =
  /[你您他她它谁我]|^(?:这|那|哪|此|该|上面|下面|刚才|什么|怎么|多|一个|某个|自己|我|的|和|跟|被|看到|听到|知道|说|问|想|别人|大家|所有|全部|一切|前者|后者|第[一二三四五])|什么|怎么|答案|回答|回复|建议|方案|版本|选项|想法|这个|这样|那个|这种|那种|今天|今晚|现在|刚才|死了$|不得|起来|得很|不起|莫能|可能|的人$|一个人|女生|男生|女孩|男孩|^里面|^(?:看|听|吃|喝|玩|打|做|去|说)$|[不没]$|^(?!吃|喝).*的$/u;
const LAST_PARTICLE = /(?:了|啊|呀|哦|哈|啦|嘛|喔|哟|的人|这件事|这个事|这事)+$/u;

const list = (value: string | null): string[] => (value === null ? [] : [value]);
const size = (text: string): number => [...text].length;

/** A name: it begins with a surname, as a nickname does ("小明", "明明"), or in Latin letters. */
export const chineseName: ReadValues = (caught) =>
  LATIN_NAME.test(caught) || (NAME.test(caught) && !NOT_NAMES.test(caught)) ? list(cleanValue(caught)) : [];

/** A name where the sentence leaves no doubt that it is one ("我的名字是…", "我的狗叫…"). */
export const anyChineseName: ReadValues = (caught) =>
  LATIN_NAME.test(caught) || (/^\p{Script=Han}{1,4}$/u.test(caught) && !/[了你您吗吧什么啥谁哪]/u.test(caught))
    ? list(cleanValue(caught))
    : [];

/** A town, region or country. */
export const chinesePlace: ReadValues = (caught) => (PLACE.test(caught) && !NOT_PLACES.test(caught) ? list(cleanValue(caught)) : []);

/** A town known as one. */
export const chineseCity: ReadValues = (caught) => (CITIES.test(caught) ? list(cleanValue(caught)) : []);

/** Where people are from: a town, a province or a country known as one; "好人" is no origin. */
export const chineseOrigin: ReadValues = (caught) => (CITIES.test(caught) || REGIONS.test(caught) ? list(cleanValue(caught)) : []);

/** An employer, which is no town. */
export const chineseEmployer: ReadValues = (caught) =>
  size(caught) < 2 ||
  size(caught) > 12 ||
  CITIES.test(caught) ||
  /[了找几份换要]|考虑|^(?:一家|这家)?公司$|^(?:家|这|那|哪|外面|国外|线|努力|认真|一起|晚|白天|夜|工地|外地|这里|里面)|家里|[你他她]|楼$/u.test(
    caught,
  )
    ? []
    : list(cleanValue(caught));

/** Digits and Chinese numbers with the unit. */
export const chineseAge: ReadValues = (caught) => (/^(?:\d{1,3}|[一二三四五六七八九十]{1,4})岁$/u.test(caught) ? [caught] : []);

/** A day of the year. */
export const chineseDay: ReadValues = (caught) =>
  /^(?:农历|阴历|阳历)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月(?:初|\d{1,2}|[一二三四五六七八九十]{1,3})[\p{Script=Han}\d]{0,3}$/u.test(
    caught,
  )
    ? list(cleanValue(caught))
    : [];

/** Whatever the rule has caught, if it may be stored. */
export const chineseText: ReadValues = (caught) => list(cleanValue(caught));

/** One thing liked or not. */
export const chineseThing: ReadValues = (caught) => {
  const value = caught.replace(LAST_PARTICLE, "");
  return value === "" || size(value) > 20 || POINTS_BACK.test(value) ? [] : list(cleanValue(value));
};

/** Things with 、 and 和 between them. */
export const chineseThings: ReadValues = (caught, isCasual) => {
  const parts = splitThings(caught);
  const all = parts.map((part) => chineseThing(part, isCasual));
  return all.every((part) => part.length > 0) ? all.flat() : [];
};

/** Foods and drinks of a few characters. */
export const chineseFoods: ReadValues = (caught, isCasual) =>
  chineseThings(caught, isCasual).filter(
    (value) =>
      size(value) <= 8 && !/^(?:素|饭|软饭|东西|早饭|早餐|午饭|晚饭|夜宵|药|亏|力|香|醋|这套|下|惯|完|饱|到|起|得|出|准|消)/u.test(value),
  );

/** What somebody is allergic to; neither other people nor work. */
export const chineseAllergens: ReadValues = (caught, isCasual) =>
  chineseThings(caught, isCasual).filter(
    (value) =>
      size(value) <= 8 && !/态度|上班|加班|工作|没|不|皮肤|体质|对|[爸妈哥姐弟妹]|孩子|儿子|女儿|朋友|同学|同事|老[公婆板师]/u.test(value),
  );

/** What somebody sets out to do, unless it is about the conversation or today. */
export const chineseAim: ReadValues = (caught) => {
  const value = caught.replace(LAST_PARTICLE, "");
  return size(value) < 2 || size(value) > 30 || /[你您吗?？]|什么|怎么|如何|这个|那个|今天|今晚|明天|现在|一下|哪|为什么|多少/u.test(value)
    ? []
    : list(cleanValue(value));
};
