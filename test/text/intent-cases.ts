const spelled = (list: string): string[] => list.split("|").map((message) => message.trim());

/** What people say, by its intent; " | " stands between two. */
export const SAID = {
  preference: spelled(`I love hiking in the rain. | I don't eat meat. | My favourite colour is teal. | I prefer window seats.
    | We really enjoy board games on Sundays. | I can't stand cilantro. | I'm allergic to peanuts.
    | Please always answer in short sentences. | Call me Lena, not Helena. | I usually drink tea with oat milk
    | I no longer eat meat. | I don't like horror films any more. | We're tired of Thai food. | I have switched to decaf
    | Something else instead, please. | Make it Thursday instead. | I would rather walk | I do not want a window seat
    | 我喜欢吃辣的 | 我对花生过敏 | 我更愿意坐火车 | 我受不了吵闹的地方 | 我特别爱喝乌龙茶，推荐一家店吧 | 我一直用 Vim 写代码 | 我习惯早上跑步
    | 我不再喜欢恐怖片了 | 我不再吃肉 | 改成靠窗的座位 | 换个安静点的地方 | 换一家吧，太吵了 | 不要香菜 | 别放辣椒 | 讨厌下雨天 | 我再也不熬夜了
    | 我们吃腻了火锅 | 换成无糖的 | 最喜欢秋天 | 请不要用敬语`),
  decision:
    spelled(`I've decided to move to Oslo. | Let's go with the blue one. | We booked a table for Friday. | I'm going to quit my job in June.
    | I'll take the second option. | We chose Postgres for the new project. | OK, it's settled: Lisbon in May.
    | I signed up for the pottery course. | We cancelled the trip. | I accepted the offer from Acme.
    | I like both, but I have chosen the red bike. | I confirmed the room for two nights | I've made up my mind: no car
    | We choose the cheaper one | Then it's the green sofa | I'm sure, the oak table.
    | 我决定搬去杭州 | 那就选第二个方案 | 我打算明年考研 | 机票已经订好了 | 我们要结婚了，日子定在五月 | 旅行取消了 | 就选蓝色的 | 我选择坐高铁
    | 我确定要辞职 | 那就周五见 | 我们还是选了靠海的房间 | 日子敲定了 | 那就坐夜车吧 | 就这么定了 | 我已经确定去北京了 | 我选红色的那辆`),
  outcome: spelled(`I passed the exam! | The interview went well. | My application was rejected. | The problem is gone, your tip helped.
    | I just submitted my thesis. | This film was really great. | The restaurant you found was terrible. | That book is amazing
    | The concert last night was a disaster | We finally got the keys | The soup was delicious.
    | 考试通过了 | 我终于学会骑车了 | 论文写完了 | 比赛我们输了 | 这部电影很棒 | 那家餐厅太难吃了 | 《活着》真的很好看 | 这本书挺无聊的 | 昨天的面试很顺利
    | 那场演出非常精彩 | 问题解决了 | 没考上`),
  context: spelled(`I live in Berlin with my two kids. | What is the capital of Peru? | My sister is a nurse. | Do you like tea?
    | Which film did you choose? | The train leaves at nine. | She decides on Monday. | Is that film great? | It is raining again. | Tell me about Rome.
    | 我喜欢吃什么？ | 你决定了吗？ | 我住在北京 | 这部电影好看吗 | 他决定明天走 | 那就好，我妈妈到家了 | 我不确定 | 换个灯泡要多少钱？ | 不要紧，我在路上
    | 讨厌什么样的人 | 火车九点开 | 要不要带伞？ | 我姐姐是护士`),
  remember: spelled(`Remember that I like oat milk. | Please remember: my locker is 42. | Don't forget, we decided on Thursday.
    | From now on I eat no sugar. | Keep in mind that I am vegan. | For future reference, my size is 42.
    | 记住，我不吃牛肉 | 以后请用中文回答 | 别忘了我们决定周四出发 | 从现在起不要放糖 | 牢记我的航班号`),
} as const;

/** Questions that point back at a talk about a film and a hotel, and such as do not. */
export const REFERENCES = {
  points:
    spelled(`What about that director you mentioned? | Where was the director born that you just mentioned? | Tell me more about the film
    | And the second one? | Is the former quiet? | How old is he? | Does it have subtitles? | What else did that director make? | Which one is cheaper?
    | How much is the quieter one? | Can I watch that with my kids? | What did you say about it earlier? | Why is that? | What is the name of the hotel you suggested?
    | 之前提到的导演是谁 | 之前说的那部电影叫什么 | 那个导演还拍过什么 | 刚才说的酒店在哪 | 刚才那部电影几点放 | 上面提到的导演多大了 | 前面说的那家酒店贵吗
    | 你之前推荐的酒店有早餐吗 | 他还拍过什么 | 第二个安静吗 | 这部片子好看吗 | 那家酒店呢 | 为什么 | 安静的那家多少钱 | 这样可以吗 | 你说的那个导演是哪里人`),
  stands: spelled(`What is my dog called? | Where does my sister live and what does she do? | When did Anna say that she would visit?
    | Is it possible to cancel my gym contract? | What time is it? | Is there a pharmacy near my home?
    | What was that film we watched last summer in Rome? | What did I do on that Monday in May? | Hello | How do I boil an egg? | Who wrote Don Quixote?
    | 我上次看的那部电影叫什么 | 这个周末我有什么安排 | 我的钥匙呢？ | 公司那边的会议是几点 | 我还有其他爱好吗 | 我可以问这个问题吗 | 明天天气怎么样 | 怎么煮鸡蛋
    | 谁写了《战争与和平》 | 我女儿几岁了`),
} as const;
