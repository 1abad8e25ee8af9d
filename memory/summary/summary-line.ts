/** One line of a summary: a sentence and who said it; null for a line of a free text. */
export interface SummaryLine {
  speaker: "user" | "assistant" | null;
  sentence: string;
}

const LABELS = {
  english: { user: "- User: ", assistant: "- Assistant: " },
  chinese: { user: "- 用户：", assistant: "- 助手：" },
};
const LINE = /^- (?:(User|用户)|Assistant|助手)(?:: ?|：)(.+)$/u;

/** A line of an earlier summary that names its speaker, in either language; null when the line has another form. */
export function readSummaryLine(line: string): SummaryLine | null {
  const [, user, sentence] = LINE.exec(line) ?? [];
  if (sentence === undefined || sentence.trim() === "") return null;
  return { speaker: user === undefined ? "assistant" : "user", sentence: sentence.trim() };
}

/** The line as it stands in a summary; a sentence without a speaker is given as it is. */
export function writeSummaryLine({ speaker, sentence }: SummaryLine, language: "english" | "chinese"): string {
  return speaker === null ? sentence : LABELS[language][speaker] + sentence;
}
