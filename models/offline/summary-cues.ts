/** Words, in English or Chinese, that make a sentence worth so much more. */
export type SummaryCue = [weight: number, words: RegExp];

/** What the user says of themself and wants; the same words of an assistant are courtesy. */
export const USER_CUES: SummaryCue[] = [
  // who they are
  [8, /\b(?:my name(?:'s|’s| is)|call me|i go by|(?:i am|i['’]m) called|nickname)\b|我叫|我的名字|我姓|叫我|网名|昵称/i],
  // what harms them
  [
    8,
    /\b(?:allerg(?:y|ic|ies)|intoleran(?:t|ce)|diabet(?:es|ic)|asthma|vegetarian|vegan|c(?:o)?eliac|gluten|pregnant|diagnosed|medication|kosher|halal)\b|过敏|吃素|素食|糖尿病|高血压|哮喘|怀孕|不耐受|忌口|清真|确诊/i,
  ],
  // home and work
  [
    6,
    /\b(?:i|we)(?:['’](?:m|re|ve|ll)| am| are| have| will| was| were)? (?:\w{1,12} )?(?:live|living|moved|moving|born|grew up|come from|from|retired|(?:work|working) (?:as|at|for|in))\b|我家在|住在|我[^，。]{0,6}住|我们[^，。]{0,4}住|我[^，。]{0,3}在[^，。]{1,14}(?:工作|上班|上学|读书|念书|实习|读研|读大)|搬到|搬去|搬家|搬进|老家|我来自|出生/i,
  ],
  // turns of their life
  [
    3,
    /\b(?:i|we)(?:['’](?:m|ve)| am| have)? (?:\w{1,12} )?(?:lived|worked|study|studied|studying|quit|started|lost my)\b|辞职|退休|入职|跳槽|毕业|结婚|开始/i,
  ],
  // what they are
  [
    3,
    /\b(?:i am|i['’]m) (?:an?|the|married|single|engaged|\d)\b|\bmy (?:job|birthday|address|phone|e-?mail|number)\b|我是(?!不是|说|想|觉得|怕|在|因为|不)|我今年|我属|我生日|我的(?:生日|电话|手机|邮箱|地址|工作|职业)/i,
  ],
  // people and animals they know
  [
    2.5,
    /\b(?:my|our) (?:\w{1,12} )?(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child|children|baby|mother|mom|mum|father|dad|brothers?|sisters?|parents?|grand\w{2,8}|aunt|uncle|cousins?|niece|nephew|friends?|roommate|flatmate|neighbou?r|boss|manager|colleagues?|teacher|doctor|dentist|landlord|dogs?|cats?|puppy|kitten|pet)\b|(?:我|我们|家里)的?[^，。]{0,3}(?:老婆|妻子|太太|丈夫|老公|爱人|女朋友|男朋友|女友|男友|爸|妈|父亲|母亲|儿子|女儿|孩子|哥|姐|弟|妹|爷爷|奶奶|外公|外婆|姥姥|舅|姨|同事|老板|领导|朋友|室友|同学|老师|邻居|房东|猫|狗)/i,
  ],
  // preferences
  [
    4,
    /\b(?:i|we)(?:['’]d| do| would)? (?:\w{1,12} )?(?:like|love|hate|prefer|enjoy|dislike|adore)\b|\b(?:can['’]?t|cannot|can not|couldn['’]t) stand\b|\bfavou?rites?\b|\b(?:don['’]?t|do not|never) (?:like|eat|drink)\b|\b(?:fan of|fond of|go-to|rather than|afraid of|scared of)\b|喜欢|讨厌|爱[吃喝看听好玩打去]|最爱|偏好|偏爱|受不了|不吃|不喝|不爱|习惯|口味|宁愿|宁可|害怕|我怕/i,
  ],
  // decisions
  [
    4.5,
    /\b(?:let['’]s|we['’]ll|we will|i['’]ll (?:go|take|have|do|buy|book)|i will|i['’]?ve picked|(?:i['’]m|we['’]re) going (?:with|to))\b|打算|就这么|说好|我要|我会|我选|算了/i,
  ],
  // instructions
  [
    5,
    /\b(?:remember|don['’]?t forget|from now on|keep in mind|make sure|remind me|please (?:\w{1,8} )?(?:call|use|keep|write|answer|avoid|don['’]t|always|never|note))\b|^\W*(?:always|never)\b|记住|记得|以后[^，。]{0,2}(?:请|叫|都|不|别|要|就)|别忘|别再|请叫|务必|提醒我|从现在起|请用|请不要|请别/i,
  ],
  // what they have and have done
  [
    1.5,
    /\b(?:i|we)(?:['’]ve)? (?:\w{1,12} )?(?:have|had|own|need|want|used to|went|visited|met|learn(?:ed|t|ing)?|watched|read|finished|won|got|joined|passed|made)\b|\bi['’]ve\b|我有|我们有|我养|养了|我想|我需要|去了|去过|看了|看过|学会|学了|在学|学习|参加|完成|获得|认识了/i,
  ],
  [1, /\b(?:always|never|please|planning|plans?|hoping)\b|总是|从来|永远|希望|计划|准备|以后|不要|一定要|千万/i],
  [0.5, /\b(?:i|my|we|our)\b|我/i],
];

/** What is worth keeping whoever says it. */
export const ANYONES_CUES: SummaryCue[] = [
  // decisions
  [
    4.5,
    /\b(?:decided|decision|agreed|chose|chosen|booked|reserved|settled on|signed up|ordered|bought|confirmed|scheduled|cancel?led|open questions?|undecided|unresolved)\b|决定|选择|选了|选定|定了|定在|定好|订了|订好|预订|预定|约好|约了|约在|买了|报名|签了|待定|未定|取消/i,
  ],
  // deadlines and plans
  [
    3,
    /\b(?:tomorrow|tonight|deadline|due|appointment|this (?:weekend|summer|winter|spring|autumn|fall)|next (?:week|weekend|month|year|summer|winter|spring|autumn|fall|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?)\b|明天|明早|明晚|后天|今晚|下周|下个?月|下个?星期|下下周|这周末|周末|截止|到期|期限|明年|前交|之前交/i,
  ],
  // dates
  [
    2.5,
    /\b(?:[Mm]onday|[Tt]uesday|[Ww]ednesday|[Tt]hursday|[Ff]riday|[Ss]aturday|[Ss]unday)s?\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\b|\b(?:noon|midnight|[Cc]hristmas|birthday|anniversary)\b|\b\d{1,2}(?:st|nd|rd|th|:\d\d)\b|\b\d{1,2} ?[ap]\.?m\b|\b\d{4}[-/]\d|(?:周|星期|礼拜)[一二三四五六日天]|[\d一二三四五六七八九十]{1,3} ?(?:月|号|日|点)|\d{2,4} ?年|春节|中秋|国庆|元旦|生日/,
  ],
  // codes and addresses of e-mail
  [6, /[A-Za-z][-_#]\d|\b[A-Z]{1,4}\d{2,}|\d[A-Z]\d|[\w.]@\w|(?:密码|编号|车次|航班|单号|订单号|号码|验证码)[^，。]{0,4}[A-Za-z\d]/],
  [2.5, /\d/],
  // amounts with a unit
  [
    2,
    /[$€£¥] ?\d|\d ?(?:%|€|(?:euros?|dollars?|pounds?|kg|kilos?|km|miles?|minutes|hours|days|weeks|months|years|people|guests|pages)\b)|\d ?(?:元|块|万|岁|人|个|公斤|公里|小时|分钟|天|周|页|%)/i,
  ],
  // numbers in words, times gone by
  [
    1.5,
    /\b(?:yesterday|last (?:week|month|year|night|summer|winter|spring|autumn|fall)|ago|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|thousand|million)\b|昨天|前天|上周|上个?月|去年|前年|年前|[二两三四五六七八九十百千万半]{1,6} ?(?:个|只|条|块|元|岁|年|月|天|周|次|人|名|位|件|本|张|份|家|层|楼|口|公斤|斤|米|公里|小时|分钟|瓶|杯|套|间|门|场)/i,
  ],
  // names
  [
    2,
    /(?<=[\p{Ll}\d,;:)] )["“(]?(?!OK\b|AI\b|TV\b)\p{Lu}\p{L}|(?:先生|女士|老师|医生|大夫|经理|教授|导演|师傅|主任|阿姨|叔叔)|叫做?[“「《\p{L}]|[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文]|《|[\p{Script=Han}](?:市|省|大学|医院|公司|酒店|餐厅|饭店|机场|火车站|高铁站|小区)|\p{Script=Han} ?[A-Za-z]{2}/u,
  ],
  [1, /(?<=[\p{Ll}\d,;:)] )\p{Lu}\p{L}[^.!?]{0,60}(?<=[\p{Ll}\d,;:] )\p{Lu}\p{L}|《[^》]{1,40}》[^《]{0,40}《/u],
];
