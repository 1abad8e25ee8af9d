import path from "node:path";
import { readLines } from "../recall/read-sets.ts";
import type { Dialogue, Exchange } from "./dialogue.ts";

const SETS = ["longmemeval", "locomo", "memorybank-en", "memorybank-cn"];

interface StoredSession {
  exchanges?: Exchange[];
  turns?: { role: string; text: string }[];
}

/** Between user and assistant, an exchange is a message with the answer right behind it; between two people, turns 1–2, 3–4, …. */
function exchangesOf({ exchanges, turns = [] }: StoredSession): Exchange[] {
  if (exchanges) return exchanges.map(({ user, assistant }) => ({ user, assistant }));
  const hasAssistant = turns.some(({ role }) => role === "assistant");
  return turns.flatMap(({ role, text: user }, index) => {
    const answer = turns[index + 1];
    const begins = hasAssistant ? role === "user" && answer?.role === "assistant" : index % 2 === 0;
    return begins && answer ? [{ user, assistant: answer.text }] : [];
  });
}

/**
 * Joins the sessions of conversation `first`, then, as long as there are fewer than `turns` exchanges, those of the conversations after
 * it, around the end of the list. A session that is in several conversations is taken once.
 */
function join(conversations: Exchange[][][], first: number, turns: number): Exchange[] {
  const joined: Exchange[] = [];
  const taken = new Set<string>();
  for (const session of [...conversations.slice(first), ...conversations.slice(0, first)].flat()) {
    if (joined.length >= turns) break;
    const key = JSON.stringify(session[0]);
    if (!taken.has(key)) joined.push(...session.filter(({ user, assistant }) => user.trim() && assistant.trim()));
    taken.add(key);
  }
  return joined.slice(0, turns);
}

/** Up to `count` dialogues of each data set in the folder, evenly spread over it, of `turns` exchanges or as many as there are. */
export async function readDialogues(folder: string, { count, turns }: { count: number; turns: number }): Promise<Dialogue[]> {
  const dialogues: Dialogue[] = [];
  for (const set of SETS) {
    const lines = await readLines<{ sessions: StoredSession[] }>(path.resolve(folder, set, "conversations.jsonl"));
    const conversations = lines.map(({ sessions }) => sessions.map(exchangesOf));
    const wanted = Math.min(count, conversations.length);
    for (let index = 0; index < wanted; index++) {
      const first = Math.floor((index * conversations.length) / wanted);
      dialogues.push({ set, exchanges: join(conversations, first, turns) });
    }
  }
  return dialogues;
}
