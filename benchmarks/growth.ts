import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import type { ConversationGraph } from "../graph/build-graph.ts";
import { startTurn } from "../graph/start-turn.ts";
import { runMemoryJobs } from "../memory/jobs/run-memory-jobs.ts";
import { waitUntilSettled } from "../memory/jobs/wait-until-settled.ts";
import { makeJobOverview, type JobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/migrate.ts";
import { openPostgres } from "../stores/postgres/open-postgres.ts";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import type { Exchange } from "./support/dialogue.ts";
import { generateDialogues } from "./support/generate-dialogues.ts";
import { loadConversations, type ConversationsToLoad } from "./support/load-conversations.ts";
import { ScriptedChatModel } from "./support/scripted-chat-model.ts";
import { distribution, type Distribution } from "./support/statistics.ts";
import { writeResults } from "./support/write-results.ts";

/** Turns with conversations of one size before it is the next size's. */
const TURNS_PER_ROUND = 6;
/** About 1,000 turns: until then V8 is still compiling. */
const WARM_UP_ROUNDS = 24;
/** 240 turns of each size. */
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 40);
/** The window that the summaries leave, and the budget that cuts it where there are none. */
const [HISTORY_WINDOW, TOKEN_BUDGET] = [6, 8_192];

type Memory = "summary" | "no summary";

/** Conversations of one size. Rounds take them in turn, so that the turns that are measured make a short one hardly longer. */
interface Size extends ConversationsToLoad {
  memory: Memory;
}

const size = (memory: Memory, messages: number, count: number): Size => {
  return { memory, messages, count, user: `${memory} ${messages}`, uncovered: memory === "summary" ? HISTORY_WINDOW : null };
};

const SIZES = [
  size("summary", 100, 40),
  size("summary", 1_000, 40),
  size("summary", 10_000, 10),
  size("summary", 100_000, 2),
  size("no summary", 100, 40),
  size("no summary", 1_000, 40),
  size("no summary", 100_000, 2),
];

/** What else is in the tables. */
const OTHERS: ConversationsToLoad = { user: "other", count: 2_000, messages: 50, uncovered: HISTORY_WINDOW };

interface Samples {
  turnMs: number[];
  historyMs: number[];
  jobMs: number[];
  windowMessages: number[];
}

interface Measured {
  memory: Memory;
  messages: number;
  turns: number;
  turnMs: Distribution;
  historyMs: Distribution;
  /** Of one run of the summary's job; null without summaries. */
  jobMs: Distribution | null;
  /** Messages in the prompts, fewest and most. */
  windowMessages: [number, number];
}

interface Parts {
  graphs: Record<Memory, ConversationGraph>;
  model: ScriptedChatModel;
  overview: JobOverview;
  sample: Exchange[];
  /** Milliseconds of the jobs that ran since the last call. */
  takeJobTimes: () => number[];
}

async function runRound({ memory, user, count, messages }: Size, round: number, parts: Parts, samples: Samples): Promise<void> {
  const { graphs, model, overview, sample, takeJobTimes } = parts;
  takeJobTimes(); // a job is settled in the database a moment before this process hears of it: what came late belongs to nobody
  for (let turn = 0; turn < TURNS_PER_ROUND; turn++) {
    const exchange = sample[(round * TURNS_PER_ROUND + turn) % sample.length] ?? { user: "", assistant: "" };
    model.answer = exchange.assistant;
    const input = { userId: `${user}-${round % count}`, sessionId: "bench", message: exchange.user };
    const last = await startTurn(graphs[memory], input).ended;
    if (last.status === "error") throw new Error(`a turn with ${messages} messages failed: ${last.content.message}`);
    const { completed, timings, receipt, conversation_id: conversationId } = last.content;
    if (!completed || (receipt.summary !== null) !== (memory === "summary"))
      throw new Error(`not as set up: ${JSON.stringify(last.content)}`);
    samples.turnMs.push(timings.total_ms);
    samples.historyMs.push(timings.nodes["history"] ?? Number.NaN);
    samples.windowMessages.push(receipt.window_messages);
    await waitUntilSettled({ overview, conversation: { tenantId: "default", userId: input.userId, conversationId }, timeoutMs: 30_000 });
    samples.jobMs.push(...takeJobTimes());
  }
}

/** All sizes in turn, round by round, forwards and backwards, after a warm-up that is not counted. */
async function measure(parts: Parts): Promise<Measured[]> {
  const empty = (): Samples => ({ turnMs: [], historyMs: [], jobMs: [], windowMessages: [] });
  const samples = new Map(SIZES.map((of) => [of, empty()]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const isCounted = round >= WARM_UP_ROUNDS;
    for (const of of round % 2 === 0 ? SIZES : SIZES.toReversed()) {
      await runRound(of, round, parts, isCounted ? (samples.get(of) ?? empty()) : empty());
    }
    process.stderr.write(`\rround ${round - WARM_UP_ROUNDS + 1} of ${ROUNDS} `);
  }
  process.stderr.write("\n");
  return [...samples].map(([{ memory, messages }, { turnMs, historyMs, jobMs, windowMessages }]) => ({
    memory,
    messages,
    turns: turnMs.length,
    turnMs: distribution(turnMs),
    historyMs: distribution(historyMs),
    jobMs: jobMs.length > 0 ? distribution(jobMs) : null,
    windowMessages: [Math.min(...windowMessages), Math.max(...windowMessages)],
  }));
}

/** How many times as long it takes with the most messages as with the fewest, by the medians. */
function growthOf(rows: Measured[]): { memory: Memory; turn: number; history: number }[] {
  return (["summary", "no summary"] as const).map((memory) => {
    const own = rows.filter((row) => row.memory === memory);
    const times = (field: "turnMs" | "historyMs"): number => (own.at(-1)?.[field].p50 ?? Number.NaN) / (own[0]?.[field].p50 ?? Number.NaN);
    return { memory, turn: times("turnMs"), history: times("historyMs") };
  });
}

/** Whether a turn takes longer the longer the conversation is. */
export async function benchGrowth(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const database = await openPostgres(postgres.url);
  opened.defer(() => database.close());
  await migrate(database);
  const [{ exchanges: sample } = { exchanges: [] }] = generateDialogues({ count: 1, turns: 200 });
  process.stderr.write("loading the conversations\n");
  await loadConversations(postgres.url, sample, [...SIZES, OTHERS]);

  const jobTimes: number[] = [];
  const jobs = await runMemoryJobs({
    database,
    summaryModel: null,
    historyWindow: HISTORY_WINDOW,
    coreMemory: null,
    onRun: ({ ms }) => jobTimes.push(ms),
  });
  opened.defer(() => jobs.stop(1_000));
  const model = new ScriptedChatModel();
  const common = { database, chatModel: model, historyWindow: HISTORY_WINDOW, coreMemory: null };
  const rows = await measure({
    graphs: {
      summary: createConversationGraph(common),
      "no summary": createConversationGraph({ ...common, summary: null, contextTokenBudget: TOKEN_BUDGET }),
    },
    model,
    overview: makeJobOverview(database),
    sample,
    takeJobTimes: () => jobTimes.splice(0),
  });

  const cell = (values: Distribution | null): string => (values ? `${values.p50.toFixed(1)} / ${values.p95.toFixed(1)}` : "–");
  console.log("| memory | messages | turn ms (p50 / p95) | history ms (p50 / p95) | summary job ms (p50 / p95) | window |");
  console.log("| --- | --- | --- | --- | --- | --- |");
  for (const { memory, messages, turnMs, historyMs, jobMs, windowMessages } of rows) {
    const times = [turnMs, historyMs, jobMs].map(cell).join(" | ");
    console.log(`| ${memory} | ${messages.toLocaleString("en")} | ${times} | ${windowMessages.join("–")} |`);
  }
  const growth = growthOf(rows);
  console.log("\nMost messages against fewest, times:", JSON.stringify(growth));
  await writeResults("growth", { rows, growth });
}
