const ENGLISH =
  "wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|mother|mom|mum|father|dad|son|daughter|baby|brother|sister|twin|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|niece|nephew|best friend|friend|roommate|flatmate|neighbou?r|boss|manager|colleague|coworker|co-worker|stepson|stepdaughter|stepmother|stepfather|dog|cat|puppy|kitten|parrot|rabbit|hamster|horse";
const CHINESE =
  "妻子|老婆|太太|媳妇|丈夫|老公|爱人|女朋友|男朋友|女友|男友|未婚妻|未婚夫|妈妈|母亲|爸爸|父亲|儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|爷爷|奶奶|外公|外婆|姥姥|姥爷|叔叔|阿姨|舅舅|表哥|表姐|表弟|表妹|堂哥|堂姐|堂弟|堂妹|侄子|侄女|好朋友|好友|闺蜜|朋友|室友|同事|老板|领导|同学|邻居|猫咪|狗狗|猫|狗|兔子|仓鼠|鹦鹉";

/** Roles of people and animals close to the user, as alternatives of an expression. */
export const ROLES = { english: `(?:${ENGLISH})`, chinese: `(?:${CHINESE})` };

/** One place for the partner under any name, and one for each parent: a new one takes it. */
const ONLY_ONE: [RegExp, string][] = [
  [
    /^(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|妻子|老婆|太太|媳妇|丈夫|老公|爱人|女朋友|男朋友|女友|男友|未婚妻|未婚夫)$/u,
    "partner",
  ],
  [/^(?:mother|mom|mum|妈妈|母亲)$/u, "mother"],
  [/^(?:father|dad|爸爸|父亲)$/u, "father"],
];

/** What a role counts as when names are compared: "partner" for a wife or husband; null for roles that several may have. */
export function onlyOneOf(role: string): string | null {
  return ONLY_ONE.find(([pattern]) => pattern.test(role.toLowerCase()))?.[1] ?? null;
}
