import { defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import { runMemoryJobs } from "../memory/run-memory-jobs.ts";
import { makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../stores/postgres/database/open-embedded-postgres.ts";
import { type Dialogue, generateDialogues, type Exchange } from "./support/dialogues/generate-dialogues.ts";
import type { Progress } from "./support/progress.ts";
import { playDialogue, ScriptedChatModel, type TurnTokens } from "./support/dialogues/play-dialogue.ts";
import { compareWithWholeHistory, type PlayedSet, shareInCommon, tokenFigures } from "./support/dialogues/token-figures.ts";
import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens as p50k } from "gpt-tokenizer/encoding/p50k_base";
import { makeTokenCounts } from "../models/facts/token-counts.ts";
import { estimateTokens } from "../text/tokens.ts";
import { type Figure, figureOf } from "./support/figures.ts";
import path from "node:path";
import { readLines } from "./support/recall/read-sets.ts";

const SETS = ["longmemeval", "locomo", "memorybank-en", "memorybank-cn"];

interface StoredSession {
  exchanges?: Exchange[];
  turns?: { role: string; text: string }[];
}

/** With an assistant, an exchange is a message and its answer; between two people, turns 1–2, 3–4, …. */
function exchangesOf({ exchanges, turns = [] }: StoredSession): Exchange[] {
  if (exchanges) return exchanges.map(({ user, assistant }) => ({ user, assistant }));
  const hasAssistant = turns.some(({ role }) => role === "assistant");
  return turns.flatMap(({ role, text: user }, index) => {
    const answer = turns[index + 1];
    const begins = hasAssistant ? role === "user" && answer?.role === "assistant" : index % 2 === 0;
    return begins && answer ? [{ user, assistant: answer.text }] : [];
  });
}

/** Joins the sessions of conversation `first` and of later ones until there are `turns` exchanges. A repeated session counts once. */
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

/** Up to `count` dialogues of each data set, evenly spread, of `turns` exchanges or as many as there are. */
async function readDialogues(folder: string, { count, turns }: { count: number; turns: number }): Promise<Dialogue[]> {
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

const VOCABULARIES = {
  "o200k_base, gpt-4o and later": o200k,
  "cl100k_base, gpt-4": cl100k,
  "p50k_base, gpt-3": p50k,
};

const SYSTEM = "You are a helpful assistant in a long-running conversation. Answer in the language of the user's last message.";
const TOOL = {
  name: "memory_search",
  description: "Searches what the user has said before.",
  schema: { type: "object", properties: { query: { type: "string" }, limit: { type: "integer", minimum: 1 } }, required: ["query"] },
};
const TOOLS = Array.from({ length: 6 }, (_, number) => JSON.stringify({ ...TOOL, name: `${TOOL.name}_${number}` })).join("\n");

const WINDOW = 8;
/** Earlier turns are learned from. */
const LEARNED_TURNS = 20;
const TURNS = 120;
/** Tokens of a prompt that fills a small context. */
const FULL_PROMPT = 8_192;

function promptOf({ exchanges }: Dialogue, turn: number): BaseMessage[] {
  const window = exchanges.slice(Math.max(0, turn - WINDOW), turn);
  return [new SystemMessage(SYSTEM), ...window.flatMap(({ user, assistant }) => [new HumanMessage(user), new HumanMessage(assistant)])];
}

/** The error of learned counts, in per cent; every third prompt offers tools. */
function errorsOf(dialogues: readonly Dialogue[], count: (text: string) => number): Map<string, number[]> {
  const counts = makeTokenCounts();
  const errors = new Map<string, number[]>();
  for (let turn = 1; turn < TURNS; turn++) {
    for (const dialogue of dialogues) {
      if (turn > dialogue.exchanges.length) continue;
      const messages = promptOf(dialogue, turn);
      const hasTools = turn % 3 === 0;
      const request = { messages, toolTokens: hasTools ? estimateTokens(TOOLS) : 0 };
      const real = messages.reduce((sum, { text }) => sum + count(text) + 4, 3) + (hasTools ? count(TOOLS) : 0);
      const counted = counts.count("model", request);
      if (turn > LEARNED_TURNS) errors.set(dialogue.set, [...(errors.get(dialogue.set) ?? []), 100 * Math.abs(counted / real - 1)]);
      counts.learn("model", request, real);
    }
  }
  return errors;
}

function timesOf(dialogues: readonly Dialogue[]): number[] {
  const counts = makeTokenCounts();
  return dialogues.flatMap((dialogue) => {
    const messages: BaseMessage[] = [];
    for (let turn = 1, tokens = 0; tokens < FULL_PROMPT; turn++) {
      const { user = "", assistant = "" } = dialogue.exchanges[turn % dialogue.exchanges.length] ?? {};
      tokens += estimateTokens(user + assistant);
      messages.push(new HumanMessage(user), new HumanMessage(assistant));
    }
    return Array.from({ length: 50 }, () => {
      const began = performance.now();
      counts.count("model", { messages });
      return performance.now() - began;
    });
  });
}

/** The error of counts by vocabulary and set, and the time for a full prompt. */
function countFigures(dialogues: readonly Dialogue[]): Figure[] {
  const errors = Object.entries(VOCABULARIES).flatMap(([vocabulary, count]) =>
    [...errorsOf(dialogues, count)].map(([set, off]) =>
      figureOf(`count off, ${vocabulary}, ${set}`, "%", [off], { goal: { atMost: 3, of: "p95" } }),
    ),
  );
  return [...errors, figureOf(`counting a prompt of ${FULL_PROMPT} tokens`, "ms", [timesOf(dialogues)], { goal: { atMost: 2 } })];
}

const POINTS = [10, 20, 50, 100, 500];
/** Turns from one summary to the next: the window grows meanwhile (SUMMARY_UPDATE_DELTA is 5 messages). */
const PERIOD = 3;

type Numbers = Record<"dialogues" | "turns", number>;

/** Generated dialogues, and with CONVERSATION_DATA real ones. Figures over all sets are then of real ones only. */
async function chooseDialogues({ dialogues: count, turns }: Numbers): Promise<{ dialogues: Dialogue[]; isReal: boolean }> {
  const folder = process.env["CONVERSATION_DATA"];
  const wanted = { count, turns: turns + PERIOD };
  const generated = generateDialogues(wanted);
  if (!folder) return { dialogues: generated, isReal: false };
  return { dialogues: [...(await readDialogues(folder, wanted)), ...generated], isReal: true };
}

async function playAll(dialogues: Dialogue[], progress: Progress): Promise<PlayedSet[]> {
  await using opened = new AsyncDisposableStack();
  const database = await openEmbeddedPostgres(IN_MEMORY);
  opened.defer(() => database.close());
  await migrate(database);
  const model = new ScriptedChatModel();
  const onRun = ({ error }: { error?: Error }) => error && process.stdout.write(`a job failed: ${error.message}\n`);
  const jobs = await runMemoryJobs({ database, summaryModel: null, onRun });
  opened.defer(() => jobs.stop(1_000));

  const graph = createConversationGraph({ database, chatModel: model, coreMemory: null });
  const parts = { graph, model, overview: makeJobOverview(database) };
  const played = new Map<string, TurnTokens[][]>();
  for (const [index, dialogue] of dialogues.entries()) {
    const onTurn = (finished: number): void => {
      progress.step(`${dialogue.set}: dialogue ${index + 1} of ${dialogues.length}, turns`, finished + 1, dialogue.exchanges.length);
    };
    const turns = await playDialogue(dialogue, `dialogue-${index}`, { ...parts, onTurn });
    played.set(dialogue.set, [...(played.get(dialogue.set) ?? []), turns]);
  }
  return [...played].map(([set, dialogues]) => ({ set, dialogues }));
}

async function run(numbers: Numbers, progress: Progress): Promise<Measured> {
  const { dialogues, isReal } = await chooseDialogues(numbers);
  const sets = await playAll(dialogues, progress);
  const counted = sets.filter(({ set }) => set.startsWith("generated") !== isReal);
  const savings = compareWithWholeHistory(sets, counted, { points: POINTS.filter((point) => point <= numbers.turns), period: PERIOD });
  const inCommon = shareInCommon(sets, counted);
  const notes = [
    "Counts are those that the service has learned after 20 turns of each dialogue, on prompts of 8 exchanges, every third with 6 tools.",
    "Tokens are those of o200k_base. What is saved is against the same system prompt, every message so far and the current one; the spread is that over the three sizes of the window.",
    isReal ? '"all" is the mean of the sets that are not generated.' : "Without CONVERSATION_DATA: generated text alone.",
  ];
  return { figures: [...tokenFigures(savings, inCommon), ...countFigures(dialogues)], notes };
}

export const tokens = defineBench({
  asks: "How many prompt tokens does a turn need as its conversation grows, against sending the whole history, and how well are they counted",
  minutes: { short: 1, long: 6 },
  numbers: {
    dialogues: { of: "dialogues of each set and language", short: 1, long: 6 },
    turns: { of: `turns of each; looked at after ${POINTS.join(", ")}`, short: 500, long: 500 },
  },
  environment: { CONVERSATION_DATA: "a folder of dialogues of people, played beside generated ones" },
  run,
});
