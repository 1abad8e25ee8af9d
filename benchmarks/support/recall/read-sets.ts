import { readFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";

export interface RecallQuestion {
  text: string;
  /** The day of the question; null: the day after the last message. */
  askedAt: Date | null;
  units: string[];
  /** Of its data set. */
  category: string;
}

export interface RecallHistory {
  /** A user's message, then the answer, and so on. `metadata.external_id` is a unit, a colon and the message's place. */
  messages: MessageToImport[];
  questions: RecallQuestion[];
}

export interface RecallSet {
  name: string;
  histories: RecallHistory[];
}

const SETS = {
  locomo: "LoCoMo",
  longmemeval: "LongMemEval",
  "memorybank-cn": "MemoryBank zh",
  "memorybank-en": "MemoryBank en",
  "madial-zh": "MADial zh",
  "madial-en": "MADial en",
  "memdaily-n100": "MemDaily",
};
/** LoCoMo's fifth category asks for what was never said. */
const LEFT_OUT = new Set(["adversarial"]);

interface StoredTurn {
  id: string;
  role: string;
  text: string;
  ts?: string;
}

interface StoredConversation {
  conv: string;
  sessions?: { ts?: string; turns?: StoredTurn[]; exchanges?: { id: string; user: string; assistant: string }[] }[];
  memories?: { id: string; ts: string; text: string }[];
}

interface Exchange {
  at: Date | null;
  asked: { unit: string; text: string };
  answer: { unit: string; text: string };
}

/** "4:04 pm on 20 January, 2023", "2023/05/20 (Sat) 05:04", "2024年04月03日 周三 11:31", "2023-04-27"; all in UTC. */
function momentOf(text: string): Date {
  const english = /^(\d+):(\d+) ([ap]m) on (\d+ \w+), (\d+)$/.exec(text);
  if (english) {
    const [, hour = "", minute = "", half, day = "", year = ""] = english;
    const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
    return new Date(Date.parse(`${day} ${year} UTC`) + (hours * 60 + Number(minute)) * 60_000);
  }
  const [year = 1970, month = 1, day = 1, hour = 0, minute = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute));
}

const spoken = ({ role, text }: StoredTurn): string => (role === "user" || role === "assistant" ? text : `${role}: ${text}`) || "…";

/** Turns 1–2, 3–4, … of a session. A turn without a time has that of the one before. */
function exchangesOfTurns(turns: StoredTurn[], sessionTime: Date | null): Exchange[] {
  let last = sessionTime ?? turns.flatMap(({ ts }) => (ts === undefined ? [] : [momentOf(ts)]))[0] ?? null;
  return turns.flatMap((turn, index) => {
    if (index % 2 === 1) return [];
    const answer = turns[index + 1];
    const ts = turn.ts ?? answer?.ts;
    if (ts !== undefined) last = momentOf(ts);
    const asked = { unit: turn.id, text: spoken(turn) };
    return [{ at: last, asked, answer: answer ? { unit: answer.id, text: spoken(answer) } : { unit: turn.id, text: "…" } }];
  });
}

function exchangesOf({ sessions = [], memories = [] }: StoredConversation): Exchange[] {
  const said = sessions.flatMap(({ ts, turns = [], exchanges = [] }) => {
    const at = ts === undefined ? null : momentOf(ts);
    const whole = exchanges.map(({ id, user, assistant }) => {
      return { at, asked: { unit: id, text: user }, answer: { unit: id, text: assistant } };
    });
    return [...whole, ...exchangesOfTurns(turns, at)];
  });
  const remembered = memories.map(({ id, ts, text }) => {
    const answer = /\p{Script=Han}/u.test(text) ? "好的。" : "OK.";
    return { at: momentOf(ts), asked: { unit: id, text }, answer: { unit: id, text: answer } };
  });
  return [...said, ...remembered];
}

/** Adds the place of a message: a session may be in a conversation twice, and an `external_id` is imported once. */
function toMessages({ at, asked, answer }: Exchange, place: number): MessageToImport[] {
  return [
    { role: "user", content: asked.text, createdAt: at, metadata: { external_id: `${asked.unit}:${place * 2}` } },
    { role: "assistant", content: answer.text, createdAt: at, metadata: { external_id: `${answer.unit}:${place * 2 + 1}` } },
  ];
}

/** The unit of a message, from its `external_id`. */
export const unitOf = (externalId: string): string => externalId.replace(/:\d+$/, "");

/** A file of JSON lines, plain or with ".gz". */
export async function readLines<Line>(file: string): Promise<Line[]> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return readFile(`${file}.gz`).then(gunzipSync);
    throw error;
  });
  return bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Line);
}

/** The sets of a CONVERSATION_DATA folder with the questions that have gold, in the order of the files. */
export async function readRecallSets(folder: string): Promise<RecallSet[]> {
  const read = async ([subfolder, name]: [string, string]): Promise<RecallSet> => {
    const file = (kind: string): string => path.resolve(folder, subfolder, `${kind}.jsonl`);
    const [conversations, queries, golds] = await Promise.all([
      readLines<StoredConversation>(file("conversations")),
      readLines<{ id: string; conv: string; query: string; qdate?: string }>(file("queries")),
      readLines<{ id: string; cat: string; units: string[] }>(file("gold")),
    ]);
    const goldOf = new Map(golds.filter(({ cat }) => !LEFT_OUT.has(cat)).map((gold) => [gold.id, gold]));
    const histories = conversations.map((conversation) => ({
      messages: exchangesOf(conversation).flatMap(toMessages),
      questions: queries.flatMap(({ id, conv, query, qdate }) => {
        const { units, cat: category } = goldOf.get(id) ?? { units: [], cat: "" };
        if (conv !== conversation.conv || units.length === 0) return [];
        return [{ text: query, askedAt: qdate === undefined ? null : momentOf(qdate), units, category }];
      }),
    }));
    return { name, histories };
  };
  return Promise.all(Object.entries(SETS).map(read));
}
