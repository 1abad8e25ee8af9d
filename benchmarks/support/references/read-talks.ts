import { readFile } from "node:fs/promises";
import type { RecentMessage } from "../../../memory/recall/recent-message.ts";

/** A conversation of one of the files beside this one. */
export interface Talk {
  language: "English" | "Chinese";
  /** Rules were tuned on every other conversation of the first two files. */
  set: "tuned" | "held out" | "third";
  recent: RecentMessage[];
  /** Points back. */
  question: string;
  holds: string[];
  holdsNot: string[];
  /** Needs no completion after the same talk. */
  whole: string | null;
}

const FILES: readonly [file: string, language: Talk["language"], sets: readonly Talk["set"][]][] = [
  ["english.txt", "English", ["tuned", "held out"]],
  ["chinese.txt", "Chinese", ["tuned", "held out"]],
  ["third-english.txt", "English", ["third"]],
  ["third-chinese.txt", "Chinese", ["third"]],
];
const MARKED_LINE = /^(?<mark>[UA?+=-]): (?<text>.*)$/u;

function readTalk(block: string, set: Talk["set"], language: Talk["language"]): Talk {
  const talk: Talk = { language, set, recent: [], question: "", holds: [], holdsNot: [], whole: null };
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
  const read = async ([file, language, sets]: (typeof FILES)[number]): Promise<Talk[]> => {
    const [, ...blocks] = (await readFile(new URL(file, import.meta.url), "utf8")).trim().split("\n\n");
    return blocks.map((block, position) => readTalk(block, sets[position % sets.length] ?? "tuned", language));
  };
  return (await Promise.all(FILES.map(read))).flat();
}
