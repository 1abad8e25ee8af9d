/** What the rules know of: the user's name, where they live, what they like or not, and what they asked to have remembered. */
export type Topic = "name" | "home" | "taste" | "note";

/** Something the user said about themself: "yes" it is so, "no" it is the opposite (a dislike), "over" it no longer is. */
export interface Fact {
  topic: Topic;
  holds: "yes" | "no" | "over";
  value: string;
  /** The language it was said in, and is written in. */
  isChinese: boolean;
}

export const SECTION_OF = { name: "profile", home: "profile", taste: "preferences", note: "profile" } as const satisfies Record<
  Topic,
  string
>;

/** Longest value, in characters. */
const LONGEST = 120;
/** Letters, digits and the marks of ordinary names: neither tags nor templates, code, addresses nor line breaks. */
const ORDINARY = /^[\p{L}\p{M}\p{N} '&+.,%°-]+$/u;
/** A value with such words speaks to the assistant, or claims a right, whatever the sentence around it says. */
const COMMANDS =
  /\b(?:instructions?|prompts?|obey|obeying|override|ignore|ignoring|jailbreak|system|assistant|admin|administrator|root|developer|password|must|always|authorized|permission|you|your|yours|rules?|memory|answers?|reply|replies|respond|responses?)\b|指令|提示词|服从|听我|忽略|无视|越狱|系统|管理员|开发者|主人|密码|权限|必须|授权|回答|回复|规则|你|您/iu;

/** The value as it may be stored; null when it is no plain text, or speaks to the assistant. */
export function plainValue(text: string): string | null {
  if (text.length > LONGEST) return null;
  const value = text.normalize("NFC").trim();
  return /[\p{L}\p{N}]/u.test(value) && ORDINARY.test(value) && !COMMANDS.test(value) ? value : null;
}

/** How lines about a topic begin. The first English and the first Chinese beginning are the ones that are written. */
const BEGINNINGS: [topic: Topic, holds: "yes" | "no", english: string, chinese: string, ...others: string[]][] = [
  ["name", "yes", "Name: ", "名字：", "The user's name is ", "姓名："],
  ["home", "yes", "Lives in ", "住在", "The user lives in ", "User lives in ", "User is based in ", "用户住在"],
  ["taste", "no", "Dislikes ", "不喜欢", "Does not like ", "Hates ", "讨厌"],
  ["taste", "yes", "Likes ", "喜欢", "Enjoys ", "Loves "],
  ["note", "yes", "Asked to remember: ", "要记住："],
];

/** The line of core memory that says a fact. */
export function lineOf({ topic, holds, value, isChinese }: Fact): string {
  const [, , english = "", chinese = ""] = BEGINNINGS.find((row) => row[0] === topic && row[1] === holds) ?? [];
  return isChinese ? `${chinese}${value}。` : `${english}${value}.`;
}

/** What a line of core memory says: the beginning of its words, and what stands after them. Null for lines in other words. */
export function readLine(line: string): { topic: Topic; holds: "yes" | "no"; beginning: string; value: string } | null {
  const text = line.trimEnd();
  const plain = text.endsWith(".") || text.endsWith("。") ? text.slice(0, -1) : text;
  for (const [topic, holds, ...beginnings] of BEGINNINGS) {
    const beginning = beginnings.find((start) => plain.length > start.length && plain.startsWith(start));
    if (beginning !== undefined) return { topic, holds, beginning, value: plain.slice(beginning.length) };
  }
  return null;
}
