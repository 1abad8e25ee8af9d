import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";

interface CueRule {
  english: RegExp;
  chinese: RegExp;
}

const REMEMBER: CueRule = {
  english:
    /\b(?:(?<!\b(?:do|did|still) you(?: still)? )remember(?: (?:that|this|to|my|i|we)\b|: ?(?=\w))|don['’]?t forget|keep in mind|note that|for future reference|from now on|make a note|bear in mind)\b/i,
  chinese:
    /(?:请|帮我|你要|要|麻烦)?(?:记住|记下|牢记)|(?<![还你不])记得(?!吗|不|么)(?=我|以后|提醒|要|把)|别忘|不要忘|以后(?:请|都|就|不要|别|叫|跟)|从现在(?:起|开始)/u,
};

const PREFERENCE: CueRule = {
  english:
    /\b(?:i|we)(?:['’](?:d|m|ve))?(?: \w+){0,2} (?:like|love|hate|prefer|enjoy|dislike|adore|loathe|detest)(?:d|s)?\b(?! to (?:know|ask|book|see if))|\b(?:i['’]m|i am|we['’]re)(?: \w+){0,2} (?:fond of|allergic|vegan|vegetarian|into|crazy about|a (?:big |huge )?fan|not a fan|keen on|picky|intolerant|more of a)\b|\bmy (?:absolute )?favou?rite\b|\bcan['’]?t (?:stand|eat|tolerate)\b|\b(?:i|we) (?:don['’]?t (?:eat|drink|like|want|use|wear|watch|fly)|(?:never|only|always|usually|mostly|rarely|seldom|hardly ever) (?!been|be|have|had|thought|knew|said|wanted)\w+)\b|\brather (?:\w+ ){1,4}than\b|\bplease (?:always|never|only|keep|use|call me|answer|avoid|don['’]?t|stop)\b|\b(?:keep|make) (?:your|the|all) (?:answers?|repl(?:y|ies)|responses?|messages?)\b|^(?:always|never|no more) \w+|\b(?:call me|(?:i['’]d|i would|we would) rather|works best for me|my go-to|not my thing|my taste)\b/i,
  chinese:
    /(?:我|我们|本人)[^，。？！]{0,8}(?:喜欢|讨厌|爱[吃喝看听好玩]|最爱|偏好|偏爱|受不了|不吃|不喝|不爱|习惯|更愿意|宁愿|宁可|钟爱|热爱|迷上|享受|过敏|吃素|忌口|怕[辣冷热吵黑高])|(?:最|更|不太|不|特别|比较)喜欢(?!什么)|(?:请|麻烦|以后)(?:你)?(?:都|总是|一直|不要|别|用|叫我|只|尽量)|我[^，。？！]{0,6}(?:只|从来不|从不|一直|总是)(?:吃|喝|用|看|听|坐|穿|买)|(?:回答|回复|说话|语气|解释)[^，。？]{0,6}(?:一点|一些|点)(?=[。！]|$)|(?:^|[，。])(?:别|不要)(?:再|在|给我)|不合我胃口|我[^，。？！]{0,3}口味|我的(?:最爱|口味|偏好)/u,
};

const DECISION: CueRule = {
  english:
    /\b(?:i|we)(?:['’](?:ve|d|ll)| have| had| will)?(?: \w+){0,1} (?:decided|chosen|chose|agreed|settled on|picked|opted|booked|reserved|signed up|enrolled|ordered|accepted|quit|resigned|committed to|go(?:ing)? with|gone with|cancel(?:l?ed)?)\b|\b(?:let['’]s|we['’]ll|i['’]ll|i will|we will) (?:go (?:with|for)|take|use|book|do|choose|pick|keep|switch|stick|start|buy|call it|meet|make it)\b|\b(?:i['’]m|we['’]re|i am|we are) (?:going to (?!ask|be honest)|going with|switching|moving (?:to|in|out)\b|planning to|quitting|getting married|signing)|^(?:just |finally |already )?(?:decided|chose|picked|booked|reserved|ordered|bought|signed up|enrolled|cancel?led)\b|\b(?:i|we) (?:plan|intend|are set|am set) to\b|\b(?:final decision|it['’]s decided|it['’]s settled|deal|that settles it|made up my mind|decision is)\b/i,
  chinese:
    /(?<![他她它谁们])决定(?!权)|我们决定|商量好|下定决心|(?:想好|考虑好|谈妥)了|(?:我|我们|咱们?)(?:还是|就|最后|已经|最终)?(?:选|定|订|买|报名|预订|预定|约|签)了|(?:选|选择|定|敲定|确定)(?:了|好了|下来)|(?:离职|辞呈)|就(?:这么|这样|按|用|选|买|去|定)(?:定|办|做|来|吧|了|这)|说好(?:了|的)|一言为定|打算|我(?:要|会|准备)(?:去|买|换|搬|辞|报|学|开始|参加|申请|嫁|结)|我们(?:要|会|准备)(?:去|买|换|搬|办|结)|(?:已经|刚)?(?:订|预订|预定|报名|签)(?:了|好)|约好(?:了|在|周|明|后|下)|拍板|那就(?:选|定|去|买|用|这)|取消(?:了|吧)|不(?:去|买|换)了|辞职/u,
};

const OUTCOME: CueRule = {
  english:
    /\b(?:it|that|this|everything|the \w+|my \w+|your \w+|we|i)(?: \w+){0,2} (?:worked|works now|failed|passed|succeeded|graduated|rejected|approved|finished|completed|fixed|solved|resolved|went (?:well|badly|great|fine|wrong)|turned out|broke|crashed|won|lost|got (?:the|a|an|accepted|rejected|promoted|approved|delayed)|arrived|launched|shipped|recovered|improved|died|(?:was|were|got|has been) (?:approved|rejected|accepted|delivered|delayed|published|released|stolen|promoted|fired|hired|diagnosed|a success))\b|\b(?:didn['’]?t|did not) (?:get the|pass|work|win|make it|succeed|help)\b|\b(?:problem|issue|bug)(?: is|['’]s) (?:gone|solved|fixed)\b|\b(?:finally|in the end|as a result|turned out|thanks to (?:your|that)|mission accomplished|(?:test|exam|lab|blood)?\s?(?:results?|tests?) (?:came|come|are|were|is))\b|\b(?:i|we)(?:['’]ve)? (?:just )?(?:finished|passed|failed|won|lost|fixed|solved|completed|submitted|delivered|launched|shipped|recovered|gained|graduated|achieved|reached|ran|scored)\b/i,
  chinese:
    /(?:成功|失败|通过|解决|完成|搞定|修好|做完|写完|交|考|赢|输|拿到|收到|毕业|上线|发布|治好|痊愈|获得|达成|录取)了|终于|总算|(?:很|非常|挺|相当|圆满)成功|(?:检查|考试|比赛|面试|化验|体检|手术)(?:的)?结果|(?:延误|取消|推迟|晚点|耽误)了[^吧]|没(?:能)?(?:升职|中奖|录取|[^，。]{1,2}(?:过|成|上))(?=[。！]|$)|(?:瘦|胖|涨|跌|减|赚|亏)了|(?:拿到|收到|得到)[^，。？]{1,8}了|(?:昨天|今天|已经)[^，。？]{0,4}(?:上线|发布|完工|交付)|(?:成功|结果|最后)(?:是|把|还是|被|地|都|我|他|她|解决|通过|没|赢|输|完成|出来|好了)|(?:没|没有)(?:通过|成功|考上|拿到|赶上)|被(?:录取|拒|批准|取消|接受)|(?:考|得|赢|跑)了?[\d一二三四五六七八九十百]+(?:分|名|公里)|问题(?:没有了|消失|解决)|有用了|见效|效果(?:很好|不错|不好)/u,
};

type EpisodeType = "preference" | "decision" | "context" | "outcome";

const IMPORTANCE_OF_TYPE: Readonly<Record<EpisodeType, number>> = { preference: 0.8, decision: 0.9, context: 0.5, outcome: 0.6 };
const SMALL_TALK_IMPORTANCE = 0.1;
const REMEMBER_BONUS = 0.15;
/** Only the first sentences are read: the rest of a long message is often pasted. */
const SENTENCES = 12;
const LONGEST_SENTENCE = 400;
const QUESTION =
  /[?？]\s*$|(?:吗|呢|什么|多少|哪[里儿个位些]?)[。！ ]*$|^(?:what|when|where|who|whom|which|how|why|do|does|did|is|are|was|were|can|could|would|will|should|have|has)\b(?!.*[.!]$)/iu;
/** The assistant has done something, in place of courtesies. */
const ASSISTANT_DONE =
  /\b(?:i['’]ve|i have) (?:booked|reserved|ordered|cancel?led|scheduled|sent|created)\b|(?:已经?|帮您|为您)(?:预订|预定|预约|下单|取消|安排|发送)/iu;

const matches = ({ english, chinese }: CueRule, sentence: string): boolean =>
  english.test(sentence) || (/\p{Script=Han}/u.test(sentence) && chinese.test(sentence));

/** Decisions come first: they are often told with words of liking. */
function typeOf(sentence: string): EpisodeType {
  if (matches(DECISION, sentence)) return "decision";
  if (matches(PREFERENCE, sentence)) return "preference";
  return matches(OUTCOME, sentence) ? "outcome" : "context";
}

/**
 * The kind of an exchange and its importance from 0 to 1, by the words of the user: preference 0.8, decision 0.9, outcome 0.6, context 0.5,
 * small talk 0.1, more when the user asks to remember it. Questions state nothing. A message that is missing is "".
 */
export function classifyExchange(userMessage: string, assistantMessage: string): { episode_type: EpisodeType; importance: number } {
  const said = splitSentences((userMessage || assistantMessage).slice(0, SENTENCES * LONGEST_SENTENCE)).slice(0, SENTENCES);
  if (said.every(isSmallTalk)) return { episode_type: "context", importance: SMALL_TALK_IMPORTANCE };
  const statements = (userMessage === "" ? [] : said)
    .map((sentence) => sentence.slice(0, LONGEST_SENTENCE))
    .filter((sentence) => !QUESTION.test(sentence) || matches(REMEMBER, sentence));
  const kinds = new Set(statements.map(typeOf));
  const isDone = ASSISTANT_DONE.test(assistantMessage.slice(0, LONGEST_SENTENCE));
  const type = (["decision", "preference", "outcome"] as const).find((kind) => kinds.has(kind)) ?? (isDone ? "decision" : "context");
  const asked = statements.some((sentence) => matches(REMEMBER, sentence)) ? REMEMBER_BONUS : 0;
  return { episode_type: type, importance: Math.min(1, Math.round((IMPORTANCE_OF_TYPE[type] + asked) * 100) / 100) };
}
