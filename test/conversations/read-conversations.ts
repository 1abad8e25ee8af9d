import { readFileSync } from "node:fs";

export interface Step {
  /** Of the file. */
  line: number;
  kind: "say" | "answer" | "memory" | "do";
  text: string;
  /** Of `say`. */
  user: string;
  session: string;
  kb: string | null;
}

export interface Conversation {
  group: string;
  title: string;
  steps: Step[];
}

const SAID = /^(?:(?<user>[^\s[]+) )?(?<session>[^\s[]+)(?: \[(?<kb>\S+)\])? > (?<text>.+)$/u;
const KINDS = { "< ": "answer", "= ": "memory", "! ": "do" } as const;

function readStep(text: string, line: number): Step {
  const nobody = { line, user: "", session: "", kb: null };
  const kind = KINDS[text.slice(0, 2) as keyof typeof KINDS];
  if (kind) return { ...nobody, kind, text: text.slice(2) };
  const said = SAID.exec(text)?.groups;
  if (!said) throw new Error(`Line ${line} of the conversations is no step: ${text}`);
  return { line, kind: "say", text: said["text"] ?? "", user: said["user"] ?? "", session: said["session"] ?? "", kb: said["kb"] ?? null };
}

/** Reads conversations.txt, whose head explains its lines. */
export function readConversations(): Conversation[] {
  const lines = readFileSync(new URL("./conversations.txt", import.meta.url), "utf8").split("\n");
  const conversations: Conversation[] = [];
  let group = "";
  for (const [index, text] of lines.entries()) {
    if (text.startsWith("# ")) group = text.slice(2);
    else if (text.startsWith("## ")) conversations.push({ group, title: text.slice(3), steps: [] });
    else if (text !== "" && group !== "") conversations.at(-1)?.steps.push(readStep(text, index + 1));
  }
  return conversations;
}
