/** English words have a boundary at both ends. Both stand for themselves, as in an expression without `*` and `+`. */
interface Words {
  english: readonly string[];
  chinese: readonly string[];
}

/**
 * The words that show what a sentence is for. `…` stands for up to two words, or up to six Chinese characters of the same clause; `<I>` for
 * "I", "we've" and the like, `<me>` for 我 and its brothers.
 */
export const INTENT_WORDS = {
  /** It is to be remembered. */
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
  /** A liking, a dislike, a habit, or how the user wants it. */
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
  /** How something went, or how it was. */
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
} as const satisfies Record<string, Words>;
