/** English words have a boundary at both ends. */
interface Words {
  english: readonly string[];
  chinese: readonly string[];
}

/**
 * The words that show what a sentence is for. `…`: up to two words, or six Chinese characters of the clause. `<I>`: "I", "we've" and the
 * like. `<me>`: 我 and the like.
 */
export const INTENT_WORDS = {
  remember: {
    english: [
      "(?<!\\b(?:do|did|still) you(?: still)? )remember(?: (?:that|this|to|my|i|we)\\b|: ?(?=\\w))",
      "don['’]?t forget|keep in mind|note that|make a note|bear in mind",
      "for future reference|from now on",
    ],
    chinese: [
      "记住|记下|牢记",
      "(?<![还你不])记得(?!吗|不|么)(?=我|以后|提醒|要|把)",
      "别忘|不要忘",
      "以后(?:请|都|就|不要|别|叫|跟)",
      "从现在(?:起|开始)",
    ],
  },
  /** A liking, a dislike, a habit or a wish. */
  preference: {
    english: [
      "<I>… (?:like|love|hate|prefer|enjoy|dislike|adore|loathe|detest)(?:d|s)?\\b(?! to (?:know|ask|book|see if))",
      "<I>… (?:fond of|allergic|vegan|vegetarian|into|crazy about|a (?:big |huge )?fan|not a fan|keen on|picky|intolerant|more of a)",
      "<I> (?:don['’]?t|do not) (?:eat|drink|like|want|use|wear|watch|fly)",
      "<I> (?:never|only|always|usually|mostly|rarely|seldom|hardly ever) (?!been|be|have|had|thought|knew|said|wanted)\\w{1,20}",
      "<I>… no longer (?:like|love|enjoy|want|eat|drink|use|watch|wear)|<I>… (?:tired|sick) of",
      "<I>… (?:switch(?:ed)? to|gone off|changed my mind about)",
      "my (?:absolute )?favou?rite|can['’]?t (?:stand|eat|tolerate)|rather (?:\\w{1,20} ){1,4}than|(?:i['’]d|i would|we would) rather",
      "please (?:always|never|only|keep|use|call me|answer|avoid|don['’]?t|stop)|(?:keep|make) (?:your|the|all) (?:answers?|repl(?:y|ies)|responses?|messages?)",
      "^(?:always|never|no more) \\w{1,20}|call me|works best for me|my go-to|not my thing|my taste",
      "^(?:no|something else|another one),? (?:\\w{1,20} ){0,3}instead|(?:change|make) (?:it|that) (?:to )?(?:\\w{1,20} ){1,3}instead|not … any ?more",
    ],
    chinese: [
      "<me>…(?:喜欢|讨厌|爱[吃喝看听好玩]|最爱|偏好|偏爱|受不了|不[吃喝爱]|习惯|更愿意|宁愿|宁可|钟爱|热爱|迷上|享受|过敏|吃素|忌口|怕[辣冷热吵黑高])",
      "(?:最|更|不太|不|特别|比较|不再)喜欢(?!什么)|(?:讨厌|受不了|最烦)(?!什么)",
      "<me>…(?:不再|再也不|戒了|吃腻|看腻|听腻)|不再(?:吃|喝|用|看|听|坐|穿|买|去|想)",
      "<me>…(?:只|从来不|从不|一直|总是)(?:吃|喝|用|看|听|坐|穿|买)|不合我胃口|<me>…口味|我的(?:最爱|口味|偏好)",
      "(?:请|麻烦|以后)(?:你)?(?:都|总是|一直|不要|别|用|叫我|只|尽量)|(?:回答|回复|说话|语气|解释)…(?:一点|一些|点)(?=[。！]|$)",
      "(?:^|[，。])(?:请?别|不要)(?!忘|紧|客气|担心)|<me>…(?<!要)不(?:要|想要)(?!紧)",
      "(?:改成|改为|换成)(?!什么|功|哪)|换(?:个|一个|一家|一种|一部|一下)(?!什么)",
    ],
  },
  /** What is settled. */
  decision: {
    english: [
      "<I>(?: \\w{1,20}){0,1} (?:decided|chosen|chose|agreed|settled on|picked|opted|booked|reserved|signed up|enrolled|ordered|accepted|quit|resigned|committed to|confirmed)",
      "<I>(?: \\w{1,20}){0,1} (?:go(?:ing)? with|gone with|cancel(?:l?ed)?|made up (?:my|our) minds?)",
      "(?:let['’]s|we['’]ll|i['’]ll|i will|we will) (?:go (?:with|for)|take|use|book|do|choose|pick|keep|switch|stick|start|buy|call it|meet|make it)",
      "(?:i['’]m|we['’]re|i am|we are) (?:going to (?!ask|be honest)|going with|switching|moving (?:to|in|out)|planning to|quitting|getting married|signing)",
      "^(?:just |finally |already )?(?:decided|chose|picked|booked|reserved|ordered|bought|signed up|enrolled|cancel?led)",
      "(?:i|we) (?:plan|intend|are set|am set) to|(?:i|we) choose|i['’]m sure, (?:we|i|the|it)|(?:so|then) it['’]s (?:the|a)\\b",
      "final decision|it['’]s decided|it['’]s settled|deal|that settles it|decision is",
    ],
    chinese: [
      "(?<![他她它谁们])决定(?!权|吗|性)|<me>们决定|商量好|下定决心|(?:想好|考虑好|谈妥)了|拍板|一言为定|说好(?:了|的)",
      "<me>(?:们|还是|就|最后|已经|最终){0,2}(?:选|定|订|买|报名|预订|预定|约|签)了|<me>(?:们|还是|就|最后|最终){0,2}选(?:择)?(?!了吗|哪|什么|修|题)",
      "(?:选|选择|定|敲定|(?<![不没])确定)(?:了|好了|下来)(?!吗)|<me>(?:们|很|已经|可以){0,2}确定(?!吗|性)|就选(?!哪|什么)",
      "就(?:这么|这样|按|用|选|买|去|定)(?:定|办|做|来|吧|了|这)|那就(?!好|是|行|算|没|对|不错)",
      "打算|离职|辞呈|辞职|<me>(?:们)?(?:要|会|准备)(?:去|买|换|搬|辞|报|学|开始|参加|申请|嫁|结|办)",
      "(?:已经|刚)?(?:订|预订|预定|报名|签)(?:了|好)|约好(?:了|在|周|明|后|下)|取消(?:了|吧)|不(?:去|买|换)了",
    ],
  },
  outcome: {
    english: [
      "(?:it|that|this|everything|the \\w{1,20}|my \\w{1,20}|your \\w{1,20}|we|i)… (?:worked|works now|failed|passed|succeeded|graduated|rejected|approved|finished|completed|fixed|solved|resolved|turned out|broke|crashed|won|lost)",
      "(?:it|that|this|everything|the \\w{1,20}|my \\w{1,20}|your \\w{1,20}|we|i)… (?:went (?:well|badly|great|fine|wrong)|got (?:the|a|an|accepted|rejected|promoted|approved|delayed)|arrived|launched|shipped|recovered|improved|died)",
      "(?:was|were|got|has been) (?:approved|rejected|accepted|delivered|delayed|published|released|stolen|promoted|fired|hired|diagnosed|a success|a hit|a disaster|a failure)",
      "(?:it|that|this|the \\w{1,20})… (?:is|was|were|are) (?:(?:really|so|very|absolutely|simply|pretty|just) )?(?:great|amazing|excellent|fantastic|brilliant|superb|delicious|terrible|awful|horrible|boring|disappointing|wonderful|useless)",
      "(?:didn['’]?t|did not) (?:get the|pass|work|win|make it|succeed|help)|(?:problem|issue|bug)(?: is|['’]s) (?:gone|solved|fixed)",
      "finally|in the end|as a result|turned out|thanks to (?:your|that)|mission accomplished|(?:test|exam|lab|blood)? ?(?:results?|tests?) (?:came|come|are|were|is)",
      "(?:i|we)(?:['’]ve)? (?:just )?(?:finished|passed|failed|won|lost|fixed|solved|completed|submitted|delivered|launched|shipped|recovered|gained|graduated|achieved|reached|ran|scored)",
    ],
    chinese: [
      "(?:成功|失败|通过|解决|完成|搞定|修好|做完|写完|交|考|赢|输|拿到|收到|毕业|上线|发布|治好|痊愈|获得|达成|录取)了|终于|总算",
      "(?:很|非常|挺|相当|圆满)成功|(?:检查|考试|比赛|面试|化验|体检|手术)(?:的)?结果|(?:延误|取消|推迟|晚点|耽误)了[^吧]",
      "没(?:能)?(?:升职|中奖|录取|[^，。]{1,2}(?:过|成|上))(?=[。！]|$)|(?:没|没有)(?:通过|成功|考上|拿到|赶上)|被(?:录取|拒|批准|取消|接受)",
      "(?:瘦|胖|涨|跌|减|赚|亏)了|(?:拿到|收到|得到)[^，。？]{1,8}了|(?:昨天|今天|已经)[^，。？]{0,4}(?:上线|发布|完工|交付)",
      "(?:成功|结果|最后)(?:是|把|还是|被|地|都|我|他|她|解决|通过|没|赢|输|完成|出来|好了)|(?:考|得|赢|跑)了?[\\d一二三四五六七八九十百]{1,6}(?:分|名|公里)",
      "问题(?:没有了|消失|解决)|有用了|见效|效果(?:很好|不错|不好)",
      "(?:[这那][部家本次个场首道顿趟款集]|《[^》]{1,20}》|昨天的|今天的)[^，。？！]{0,8}(?:很|太|真|真的|非常|特别|超级?|挺|还){1,2}(?:棒|赞|好[看吃听用玩]|精彩|糟|差|烂|失望|难[看吃听用]|无聊|不错|满意|成功|顺利)",
    ],
  },
  /** An item of a list: "the second one", 第二个. `number` or `end` tells which. */
  item: {
    english: [
      "(?:the |that )?(?<number>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|[1-9](?:st|nd|rd|th)) (?:ones?|option|choice|item|suggestion|point|idea|recommendation|step|thing you said|of (?:those|these|them))\\b(?! (?:i|we) )",
      "(?:the |that )?(?<end>last|former|latter) (?:ones?|option|choice|item|suggestion|point|idea|recommendation|step|thing you said|of (?:those|these|them))\\b(?! (?:i|we) )|(?<end>former|latter)",
      "the (?<number>first|second|third|fourth|fifth)(?=[.,;?!]|$| (?:takes?|costs?|have|has|is|comes?|needs?)\\b)|the one you (?:mentioned|named|said|listed) (?<number>first)",
      "the one you (?:mentioned|named|said|listed) (?<end>last)|(?:option|number|no\\.|item|suggestion) ?#?(?<number>[1-9]|one|two|three|four|five)",
    ],
    chinese: [
      "(?<!我的?)第(?<number>\\d|[一二三四五六七八九十])[个条点项款家本部种位首道](?=[是呢怎多在叫贵便好有吗要行更能可会夏冬大用安？?，,。！]|$|选项|方案|建议|推荐|菜|地方|步)",
      "(?<!我的?)(?<end>最后|倒数第)一[个条点项款家本部种位首道](?=[是呢怎多在叫贵便好有吗要行更能可会大用安？?，,。！]|$|选项|方案|建议|推荐|菜|地方|步)|(?<end>前者|后者)|(?<end>前面那|前一|后一)[个种家](?!人)",
      "(?<end>最后|最先)[那这]一?[个条点项款家本部种位首道台](?!\\p{Script=Han}{0,4}叫什么)|^(?<number>[1-9])(?=[是要怎能会多贵有的])",
      "你(?<end>最后|最先|一开始)(?:说|提|讲|推荐)[到过的]{0,2}(?:那|这)?(?:[个条点项款家本部种位首道]|办法|方法|方案|建议|$)",
    ],
  },
  /** A thing somebody named: "the director you mentioned", 刚才说的那家餐厅. `word` names it. */
  said: {
    english: [
      "(?:that|the|those|this|these) (?<word>(?:[\\w'’-]{1,20} ){0,2}?[\\w'’-]{1,20}) (?:that |which |who |where )?(?:you|we) (?:just |earlier |already |have |had )?(?:mention(?:ed)?|said|suggest(?:ed)?|recommend(?:ed)?|list(?:ed)?|named?|described?|told me(?: about)?|wrote|gave me|proposed?|brought up|talked about|spoke of)",
    ],
    chinese: [
      "(?:刚才|刚刚|方才|刚|之前|先前|一开始|上面|前面|上述|(?<![跟和对给向])你)(?:你|我们|我|咱们)?(?:刚才|刚刚|刚|之前|前面|上面|最先|一开始)?所?(?:提到|提及|提|说|讲|推荐|介绍|建议|列|聊)[过到起出]?(?:的[那这]?|[那这])几?(?:[个位家部本首款件种些条道座])?(?<word>\\p{Script=Han}{0,6}?)(?=$|[是叫在的有多几怎什哪谁吗呢吧贵好要需能可？?，,。！ ])",
    ],
  },
  /** A thing pointed at: "that language", 那家安静的. `word` names it; without it, the topic. */
  thing: {
    english: [
      "(?:^|[,;] |\\b(?:is|was|were|are|did|does|do|about|of|with|from|to|for|at|in|on|by|like|know|remember|and|buy|visit|read|watch|try|find|call|make|take|use|get) )(?:that|those|these|this) (?!(?:second|minute|hour|day|night|morning|evening|weekend|week|month|year|time|spring|summer|autumn|fall|winter|way|kind|sort|many|much|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\\b)(?!(?:i|we|you|he|she|it|they|my|our|the|is|was|one|ones|things?)\\b|i['’])(?<word>[a-z'’-]{3,20})\\b(?! (?:i|we|you|he|she|they|my|our|in|on|at|from|last|when|who|which)\\b)",
      "the (?:one|ones) (?:about|by|with|from|in|at|near|for|of|on) (?:the |a |an )?(?<word>[\\w'’-]{2,20})",
      "^(?:ok(?:ay)?,? )?(?:so,? )?(?:(?:going |coming )?back to|about|regarding) (?:the|that|your|those) (?<word>[\\w'’-]{3,20})(?=[:,])",
      "the (?!(?:only|other|same|right|wrong|next|best|new|big) )(?<word>[\\w'’-]{3,20}) ones?\\b(?! (?:i|we|who|that) )",
    ],
    chinese: [
      "(?<!我|我们)(?<word>\\p{Script=Han}{1,6}?)的(?:那|这)[个家部本款件种条位座首道只张间](?!\\p{Script=Han}{0,4}叫什么)",
      "(?:^|，)(?<word>\\p{Script=Han}{2,4})的话|^(?:说回|回到|再说)(?<word>\\p{Script=Han}{1,6})(?=，|$)",
      "(?:^|，)(?![我你您他她它请这那])(?<word>\\p{Script=Han}{2,4})[那这][个家部本款件种台辆条座首道张间](?=[是叫在的有多几怎续价要能会贵好吗呢，]|$|\\p{Script=Han}{1,4}(?:怎么样|如何|多少|是谁|吗|呢)$)",
      "(?<!的)[那这](?:[个位家部本首款件种座条只张间道份场门台辆趟段幅]|几[个位家部本])(?!月|周|星期|礼拜|季|年|时候|世界|问题|学期|暑假|寒假|国家|城市生活)(?<word>\\p{Script=Han}{0,6}?)(?=$|[是叫在的有多几怎什哪谁吗呢吧贵好要需开可能会和跟也还真该应适？?，,。！ ])",
    ],
  },
  /** The last topic: "why?", "and him?", 那一月份呢. The final question mark is left out. */
  topic: {
    english: [
      "^(?:and|or|but|so|ok(?:ay)?|then),? (?!what|when|where|who|how|which|why|do|does|did|is|are|was|were|can|could|will|would|i\\b)\\S{1,30}(?: (?!what|when|where|who|how|which|why|do|does|did|is|are|was|were|can|could|will|would|i\\b)\\S{1,30}){0,3}$|^(?:what|how) about \\S{1,30}(?: \\S{1,30}){0,4}$",
      "^(?:and )?(?:why|how|how so|where|when|who|how much|how long|how many|how come|which one|which ones|why not|what else|anything else|then what|and then|such as|like what|for example)(?: exactly| then)?$",
      "which of (?:the (?:two|three|four|five)|them|these|those)|^(?:no|nope|sorry)[,.]? (?:i (?:meant?|was asking|asked)|not)",
      "^(?:please )?(?:tell me more|say more|go on|more details?|continue|elaborate|explain more|more)(?: please)?$|^which (?:one )?(?:is|was|of them|would) [^,]{2,30}$",
      "(?:you|i|we) (?:just|have just) \\w{1,20}|(?:what|as) you (?:just )?(?:mentioned|said|suggested|wrote)|above",
      "(?:is|was|does|did|will|would|can|could|about|like|after|before|with|for|of|than|do) (?:that|this|those|these)(?=$|[?.!,]| (?:work|mean|cost|take|help|happen|look|sound|matter|compare|true|right|too|so|again|instead|possible|good|better|expensive|far|open|legal|safe|normal))",
      "\\w{2,20} (?:that|this|those|these)(?=$|[?.!,]| (?:together|with|without|again|too|instead|first|twice|myself|online)\\b)|(?:one|some|any|all|both|either|neither) of (?:those|these|them)",
    ],
    chinese: [
      "^(?:那么?|然后|所以)?(?!我|有|在|要不要)[^？?，。什么怎哪谁几多]{1,8}呢$|^那[^，。什么怎哪谁]{1,10}呢$|^(?:那|然后|还有|后来)?呢$",
      "^(?:为什么|为啥|怎么说|怎么会|然后呢|后来呢|还有吗|还有呢|还有别的吗|详细(?:说说|一点|点)|具体(?:点|一点|说说|呢)|继续|接着说|展开(?:讲讲|说说)|多少钱|在哪(?:里|儿)?|什么时候|是谁|哪一?[个种](?:更?好|更?便宜|贵|更?适合…)?|怎么样|比如|举个例子|哪[个种](?:更|适合)…)(?:呢|吗|啊|吧)?$",
      "^(?:很|太|更)?(?:贵|远|近|难|冷|热|好吃|好看|好用|便宜|开门|安全|方便|收费)[吗呢]$|刚才|刚刚|方才|(?:上面|前面)(?:说|提|讲|列|的|那|这)|(?<!我)之前(?:说|提|讲)[到的]",
      "[这那](?:东西|玩意儿?|件?事儿?)|哪[个种款](?:更?好|更?合适)?$|^(?:不是|不对|不)，我",
      "(?:^|[，。])怎么\\p{Script=Han}{1,2}$|(?:^|[，。])在?哪[儿里]?(?:能|可以)?\\p{Script=Han}{1,3}$|这[样么](?:做|说|弄|吃|用)?(?=[可能会合行好算贵对是]|$|吗)",
      "^(?:换|买|修|做|吃|用)?一[副局集盘张台把份趟次](?=大概|要|多|得|一般|能)",
    ],
  },
} as const satisfies Record<string, Words>;
