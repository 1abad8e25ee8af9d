/** Conversations, the summaries that stand for them, and texts that small models gave in place of one. Written before the rules that judge them. */
export interface JudgedSummaries {
  name: string;
  previous?: string;
  /** User and assistant in turn. */
  said: readonly string[];
  good: readonly string[];
  bad: readonly string[];
}

const BABBLE = "I am a helpful assistant.";
const REX = "The capital of Lisbon is Rex.";

/** The same answer to whatever is said. */
const answered = (answer: string, ...asked: readonly string[]): string[] => asked.flatMap((message) => [message, answer]);

const TOLD = [
  "Hi, my name is Ada and I live in Lisbon.",
  "I work as a nurse at the hospital.",
  "My dog is called Rex.",
  "I am allergic to peanuts.",
  "What is my name?",
  "Where do I live?",
  "What is my dog called?",
  "I'm going to visit my sister Carla in Porto in May.",
  "Remind me to buy a ticket for the train at 9:40.",
];
const TOLD_ZH = [
  "你好，我叫李明，住在上海浦东。",
  "我在一家医院当护士。",
  "我的狗叫小白。",
  "我对花生过敏。",
  "我叫什么名字？",
  "我住在哪里？",
  "五月我要去杭州看我姐姐。",
  "提醒我买早上9点40的火车票。",
];

export const JUDGED_SUMMARIES: readonly JudgedSummaries[] = [
  {
    name: "an assistant that babbles",
    said: answered(BABBLE, ...TOLD),
    good: [
      "The user, Ada, lives in Lisbon and works as a nurse. Her dog is called Rex and she is allergic to peanuts. In May she visits her sister Carla in Porto. She wants to be reminded to buy a ticket for the 9:40 train.",
      "- Name: Ada\n- Home: Lisbon\n- Job: nurse\n- Dog: Rex\n- Allergy: peanuts\n- Plan: visit sister Carla in Porto in May\n- Open: buy ticket for the 9:40 train",
      "## Summary\n**User Profile:** Ada, a nurse from Lisbon with a dog named Rex. **Health:** peanut allergy.\n**Plans:** Trip to Porto in May to see her sister Carla; needs a train ticket (9:40).",
      "Ada lives in Lisbon, has a dog, Rex, and cannot eat peanuts. The Assistant gave no useful answers.",
      "You are Ada, a nurse living in Lisbon with a dog called Rex and an allergy to peanuts. You will see Carla in Porto.",
    ],
    bad: [
      `${BABBLE} `.repeat(4).trim(),
      BABBLE,
      `${BABBLE} How can I help you today?`,
      "you live in Berlin",
      "The user lives in Berlin.",
      "The user lives in Berlin and is called Thomas.",
      "The user is Ada. She lives in Berlin with her husband Peter and works as a nurse.",
      "As an AI language model, I do not have access to personal information. Please provide more context so that I can assist you.",
      "The weather is nice. The weather is nice. The weather is nice.",
      Array.from({ length: 20 }, (_, word) => ["the", "user", "lives", "in"][word % 4]).join(" "),
    ],
  },
  {
    name: "an assistant that says the same wrong thing",
    said: answered(REX, ...TOLD),
    good: ["Ada is a nurse in Lisbon. She has a dog called Rex, is allergic to peanuts and visits Carla in Porto in May."],
    bad: [REX, `${REX}\n${REX}`, `${REX} ${BABBLE}`],
  },
  {
    name: "an assistant that babbles in Chinese",
    said: answered("我是一个乐于助人的助手。", ...TOLD_ZH),
    good: [
      "用户李明住在上海浦东，是一名护士，养了一只叫小白的狗，对花生过敏。五月计划去杭州看望姐姐，需要提醒买早上9:40的火车票。",
      "- 姓名：李明\n- 住址：上海浦东\n- 职业：护士（在医院工作）\n- 宠物：狗，名叫小白\n- 过敏：花生\n- 计划：五月去杭州看姐姐；买9点40的火车票",
      "用户叫李明，来自上海，职业是护士。他有一只名叫小白的狗，不能吃花生。",
    ],
    bad: [
      "我是一个乐于助人的助手。".repeat(4),
      "我是一个乐于助人的助手。",
      "你住在柏林。",
      "用户住在柏林，名叫王芳。",
      "用户来自广州。",
      "今天天气很好，我们去公园散步吧。",
    ],
  },
  {
    name: "a trip that is planned",
    said: [
      "I'm planning a week in Italy with my husband Tom and our two kids in June. Any ideas?",
      "How lovely! You could start in Rome, with the Colosseum and the Vatican, then go to Florence by train. The kids may like the beaches near Rimini.",
      "Rome sounds good. We don't like crowds, and Tom uses a wheelchair.",
      "Then book the Colosseum for the first slot at 8:30. Hotel Santa Maria in Trastevere has step-free rooms, and Villa Borghese is flat and quiet.",
      "Hotel Santa Maria it is. Our budget is 3,500 euros. Can you check flights from Manchester?",
      "I cannot look up flights, but Jet2 and Ryanair fly from Manchester to Rome in about three hours.",
    ],
    good: [
      "The user plans a week in Italy in June with her husband Tom, who uses a wheelchair, and two children. They chose Rome and Hotel Santa Maria in Trastevere, which has step-free rooms; they avoid crowds. Budget: 3,500 euros. The assistant suggested the Colosseum at 8:30, Villa Borghese, Florence by train and the beaches near Rimini. Open: flights from Manchester (Jet2 or Ryanair).",
      "Family trip to Italy (June, one week): two adults, two kids; Tom needs wheelchair access. Decided: Hotel Santa Maria in Rome. Budget €3,500. To do: find flights from Manchester.",
      "The conversation is about an Italian family holiday in June. The user will stay at Hotel Santa Maria, wants to avoid crowds and has a budget of 3,500 euros. Tom uses a wheelchair.",
    ],
    bad: [
      "The user plans a trip to Paris with Emma and stays at the Ritz.",
      "Paris is the capital of France and has many museums, such as the Louvre. Visitors enjoy the Eiffel Tower in spring.",
    ],
  },
  {
    name: "programming, with hardly a word of the user",
    said: [
      "My FastAPI app throws 'asyncpg.exceptions.TooManyConnectionsError' under load. Why?",
      "Each worker opens its own pool. With 8 workers and max_size=20 you ask Postgres for 160 connections, while max_connections is 100 by default. Lower max_size to 10, or put PgBouncer in front.",
      "ok and how?",
      "Run PgBouncer in transaction mode on port 6432, set pool_mode = transaction, and disable the statement cache with statement_cache_size=0 in asyncpg.create_pool.",
      "thanks, and in docker?",
      "Add a service with the image edoburu/pgbouncer, set DATABASE_URL, and let the app connect to pgbouncer:6432. On Kubernetes use a sidecar.",
    ],
    good: [
      "The user's FastAPI app fails under load with asyncpg's TooManyConnectionsError: 8 workers with pools of 20 exceed the 100 connections of Postgres. The assistant advised a max_size of 10 or PgBouncer in transaction mode on port 6432 with statement_cache_size=0, in Docker as the image edoburu/pgbouncer, on Kubernetes as a sidecar.",
      "Problem: too many connections from asyncpg pools. Fix: smaller pools, or PgBouncer (transaction mode, port 6432, statement cache off). Docker set-up explained.",
      "User runs a Python web application (FastAPI) with PostgreSQL. Connection errors under load are caused by too many pooled connections; PgBouncer was recommended and its use in Docker explained.",
    ],
    bad: ["The user asked how to bake bread, and the assistant explained that yeast needs warm water and patience."],
  },
  {
    name: "one topic that the assistant does all the talking about",
    said: [
      "Tell me about photosynthesis.",
      "Plants turn light, water and carbon dioxide into sugar and oxygen. Chlorophyll in the chloroplasts absorbs red and blue light.",
      "go on",
      "The light reactions split water and make ATP and NADPH; the Calvin cycle then fixes carbon with the enzyme Rubisco.",
      "more",
      "C4 plants such as maize bind carbon first in other cells, which saves water in hot places. Cacti open their pores at night.",
    ],
    good: [
      "The user asked about photosynthesis. The assistant explained chlorophyll, the light reactions (ATP, NADPH), the Calvin cycle with Rubisco, and how C4 plants like maize and cacti save water.",
      "Photosynthesis was explained: plants make sugar and oxygen from light, water and carbon dioxide.",
    ],
    bad: ["The user lives in Madrid and likes football."],
  },
  {
    name: "a summary that is carried on through small talk",
    previous: "Ada lives in Lisbon and has a dog called Rex. She works for Siemens and is learning Portuguese with Duolingo.",
    said: [
      "Good morning!",
      "Good morning, Ada!",
      "How are you today?",
      "Fine, thank you.",
      "It rains again.",
      "Then take an umbrella for Rex and you.",
    ],
    good: [
      "Ada lives in Lisbon and has a dog called Rex. She works for Siemens and is learning Portuguese with Duolingo.",
      "Ada lives in Lisbon with her dog, Rex, works for Siemens and learns Portuguese with Duolingo. It was raining today.",
    ],
    bad: ["The user lives in Munich and works for Bosch.", BABBLE],
  },
  {
    name: "nicknames, abbreviations and times that are put otherwise",
    said: [
      "i moved from nyc to sf last week, my gf Mel stays in the UK until 12/24",
      "That is a big move! How do you like California so far?",
      "its ok. i start at openai on monday, and mel's mum Jen visits in aug",
      "Congratulations on the job at OpenAI!",
      "pls answer in spanish from now on",
      "De acuerdo, te respondo en español.",
    ],
    good: [
      "The user moved from New York City to San Francisco, in California, last week. His girlfriend Mel stays in the UK until December 24; her mother Jen visits in August. He starts at OpenAI on Monday and wants answers in Spanish.",
      "User recently moved from NYC to SF and begins work at OpenAI on Monday. Melanie (Mel), the girlfriend, is in the United Kingdom until Christmas Eve. Jen visits in August. Answers should be in Spanish.",
    ],
    bad: ["The user moved to Chicago and works at Boeing with Susan."],
  },
  {
    name: "German, whose nouns have capitals",
    said: [
      "Ich heiße Jonas und wohne in Köln. Meine Tochter Lena kommt im September in die Schule.",
      "Schön, Jonas! Braucht Lena noch einen Ranzen?",
      "Ja, und ich habe eine Nussallergie, bitte beim Kuchen für die Feier daran denken.",
      "Ich merke mir das. Ein Zitronenkuchen ohne Nüsse passt gut.",
    ],
    good: [
      "Jonas lebt in Köln. Seine Tochter Lena wird im September eingeschult und braucht einen Schulranzen. Wegen seiner Allergie gegen Nüsse soll der Kuchen zur Einschulungsfeier ein Zitronenkuchen sein.",
      "Der Nutzer heißt Jonas, wohnt in Köln und hat eine Nussallergie; Lena kommt in die Schule. Offene Frage: Ranzen. Vorschlag des Assistenten: Zitronenkuchen.",
    ],
    bad: ["Lo siento, no puedo ayudarte con eso. Prueba otra vez mañana por la tarde."],
  },
  {
    name: "Chinese with English terms, summarised in English",
    said: [
      "我叫王伟，住在北京，在 Google 做 software engineer。",
      "你好王伟！在 Google 工作怎么样？",
      "很忙，我们用 Kubernetes 和 Go，下个月要去 Singapore 出差，顺便去吉隆坡。",
      "祝你出差顺利，记得带 adapter。",
    ],
    good: [
      "Wang Wei lives in Beijing and works as a software engineer at Google with Kubernetes and Go. Next month he travels to Singapore on business, and to Kuala Lumpur.",
      "王伟住在北京，在 Google 做软件工程师，使用 Kubernetes 和 Go；下个月去新加坡出差，还会去吉隆坡。",
    ],
    bad: ["The user likes cats and has a big garden full of roses and tulips."],
  },
  {
    name: "Portuguese, summarised in English",
    said: [
      "Chamo-me Inês e vivo em Lisboa. A minha filha Matilde toca violino.",
      "Que bonito, Inês! Há quanto tempo toca a Matilde?",
      "Há três anos. O concerto é no dia 14 de junho no CCB, e o professor Rui vem de Coimbra.",
      "Boa sorte à Matilde!",
    ],
    good: [
      "Inês lives in Lisbon. Her daughter Matilde has played the violin for three years; her concert is on 14 June at the CCB, and her teacher Rui comes from Coimbra.",
    ],
    bad: ["I am sorry, but I cannot help with that request at the moment, please try again later."],
  },
  {
    name: "a Chinese talk about work",
    said: [
      "我下周三要在成都做一个关于推荐系统的报告，老板是陈静。",
      "好的，报告大概多长时间？",
      "四十分钟，听众是产品经理，不懂算法。我想用外卖的例子。",
      "可以从点外卖时的猜你喜欢讲起，再讲召回和排序，少放公式。",
      "我住的酒店在天府广场旁边，预算每晚五百元。",
      "天府广场附近的春熙路也很方便，晚上可以去宽窄巷子。",
    ],
    good: [
      "用户下周三要在成都向产品经理做四十分钟的推荐系统报告，老板是陈静。助手建议用外卖的例子讲召回和排序，少用公式。用户住在天府广场旁边的酒店，预算每晚五百元，助手推荐了春熙路和宽窄巷子。",
      "报告：下周三，成都，推荐系统，40分钟，面向不懂算法的产品经理。上司：陈静。酒店位于天府广场附近，预算500元/晚。",
      "用户准备出差做报告，想用点餐的例子解释算法，住在市中心的酒店，每晚不超过五百元。",
    ],
    bad: ["用户住在西安，名叫张三，喜欢打篮球。", "谢谢你的提问，我会尽力帮助你。".repeat(3)],
  },
];
