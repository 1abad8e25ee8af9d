import { scriptOf } from "../text/script-of.ts";
import type { Question } from "./question.ts";

export type TalkLanguage = "en" | "zh";

export const languageOf = (text: string): TalkLanguage => (scriptOf(text) === "han" ? "zh" : "en");

const WORDS = {
  en: {
    permission: (agent: string, tool: string) => `May the agent "${agent}" call "${tool}" with these arguments?`,
    options: ["allow this call", "allow this tool from now on", "do not allow it"],
    asks: (agent: string, question: string) => `The agent "${agent}" asks: ${question}`,
    answerPermission: 'Answer with a number, or with "yes", "always" or "no". Any other answer counts as no.',
    answerOne: "Answer with a number, or in your own words.",
    answerSeveral: "Answer with one or more numbers, or in your own words.",
    answerFreely: "Answer in your own words.",
    recommended: " (recommended)",
    dash: ": ",
  },
  zh: {
    permission: (agent: string, tool: string) => `智能体“${agent}”想用下面的参数调用“${tool}”，允许吗？`,
    options: ["允许这一次", "以后都允许这个工具", "不允许"],
    asks: (agent: string, question: string) => `智能体“${agent}”问：${question}`,
    answerPermission: "请回复数字，或回复“允许”“总是允许”“拒绝”。其他回复都算拒绝。",
    answerOne: "请回复数字，或用自己的话回答。",
    answerSeveral: "请回复一个或几个数字，或用自己的话回答。",
    answerFreely: "请用自己的话回答。",
    recommended: "（推荐）",
    dash: "：",
  },
} as const;

/** A question as plain text: who asks, where that is a member, numbered options, arguments in full. */
export function askInWords(asked: Question, language: TalkLanguage): string {
  const { type, options, allow_multiple: severally, agent, path, tool } = asked;
  const words = WORDS[language];
  const isTold = path.length < 2 || asked.question.includes(`"${agent}"`);
  const question = isTold ? asked.question : words.asks(agent, asked.question);
  const numbered = (lines: readonly string[]): string => lines.map((line, index) => `${index + 1}. ${line}`).join("\n");
  if (type === "permission" && tool) {
    // No line of a JSON string begins with the end of the fence.
    const given = `\`\`\`json\n${JSON.stringify(tool.arguments, null, 2)}\n\`\`\``;
    return [words.permission(agent, tool.name), given, numbered(words.options), words.answerPermission].join("\n\n");
  }
  if (options.length === 0) return [question, words.answerFreely].join("\n\n");
  const lines = options.map(({ label, description, is_recommended: isRecommended }) => {
    return `${label}${description === "" ? "" : words.dash + description}${isRecommended ? words.recommended : ""}`;
  });
  return [question, numbered(lines), severally ? words.answerSeveral : words.answerOne].join("\n\n");
}
