import { readFile } from "node:fs/promises";
import type { RecentMessage } from "../../../memory/recall/complete-question.ts";

/** A conversation of english.txt or chinese.txt. */
export interface Talk {
  language: "English" | "Chinese";
  /** Rules were tuned on every other conversation; the others are only counted. */
  half: "tuned" | "held out";
  recent: RecentMessage[];
  /** Points back. */
  question: string;
  holds: string[];
  holdsNot: string[];
  /** Needs no completion after the same talk. */
  whole: string | null;
}

const LANGUAGES = { English: "english.txt", Chinese: "chinese.txt" } as const;
const MARKED_LINE = /^(?<mark>[UA?+=-]): (?<text>.*)$/u;

function readTalk(block: string, position: number, language: Talk["language"]): Talk {
  const talk: Talk = {
    language,
    half: position % 2 === 0 ? "tuned" : "held out",
    recent: [],
    question: "",
    holds: [],
    holdsNot: [],
    whole: null,
  };
  for (const line of block.split("\n")) {
    const { mark, text = "" } = MARKED_LINE.exec(line)?.groups ?? {};
    const last = talk.recent.at(-1);
    if (mark === "U" || mark === "A") talk.recent.push({ role: mark === "U" ? "user" : "assistant", content: text });
    else if (mark === "?") talk.question = text;
    else if (mark === "+") talk.holds = text.split(" | ");
    else if (mark === "-") talk.holdsNot = text.split(" | ");
    else if (mark === "=") talk.whole = text;
    else if (last) last.content += `\n${line}`;
  }
  return talk;
}

/** All conversations of both languages. */
export async function readTalks(): Promise<Talk[]> {
  const read = async ([language, file]: [string, string]): Promise<Talk[]> => {
    const [, ...blocks] = (await readFile(new URL(file, import.meta.url), "utf8")).trim().split("\n\n");
    return blocks.map((block, position) => readTalk(block, position, language as Talk["language"]));
  };
  return (await Promise.all(Object.entries(LANGUAGES).map(read))).flat();
}
