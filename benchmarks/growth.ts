import type { ConversationGraph } from "../graph/build-graph.ts";
import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import { startTurn } from "../graph/start-turn.ts";
import { runMemoryJobs } from "../memory/run-memory-jobs.ts";
import { waitUntilSettled } from "../memory/jobs/wait-until-settled.ts";
import { type JobOverview, makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { openPostgres } from "../stores/postgres/database/open-postgres.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { CONVERSATIONS, measureBranches } from "./support/branched-conversation.ts";
import { defineBench } from "./support/bench.ts";
import type { Exchange } from "./support/dialogues/generate-dialogues.ts";
import { generateDialogues } from "./support/dialogues/generate-dialogues.ts";
import { type ConversationsToLoad, loadConversations } from "./support/dialogues/load-conversations.ts";
import { ScriptedChatModel } from "./support/dialogues/play-dialogue.ts";
import { type Figure, figureOf, ratiosByRound } from "./support/figures.ts";
import { MOST_GROWTH, measureGrownService } from "./support/growth/grown-service.ts";
import type { Measured } from "./support/results.ts";
import type { Progress } from "./support/progress.ts";

const TURNS_PER_ROUND = 6;
const [HISTORY_WINDOW, TOKEN_BUDGET] = [6, 8_192];

type Memory = "summary" | "no summary";

/** Conversations of one size. Rounds alternate among them, so that turns hardly lengthen a short one. */
interface Size extends ConversationsToLoad {
  memory: Memory;
}

const sizes = (memory: Memory, uncovered: number | null, counts: Record<number, number>): Size[] =>
  Object.entries(counts).map(([messages, count]) => ({
    memory,
    messages: Number(messages),
    count,
    user: `${memory} ${messages}`,
    uncovered,
  }));

const SIZES = [
  ...sizes("summary", HISTORY_WINDOW, { 100: 40, 1_000: 40, 10_000: 10, 100_000: 2 }),
  ...sizes("no summary", null, { 100: 40, 1_000: 40, 100_000: 2 }),
];

interface Samples {
  turnMs: number[];
  historyMs: number[];
  jobMs: number[];
  windowMessages: number[];
  promptTokens: number[];
}

interface MeasuredSize {
  of: Size;
  rounds: Samples[];
}

type Numbers = Record<"rounds" | "warm-up" | "others" | "size", number>;

interface Parts {
  graphs: Record<Memory, ConversationGraph>;
  model: ScriptedChatModel;
  overview: JobOverview;
  sample: Exchange[];
  takeJobTimes: () => number[];
}

async function runRound({ memory, user, count, messages }: Size, round: number, parts: Parts, samples: Samples): Promise<void> {
  const { graphs, model, overview, sample, takeJobTimes } = parts;
  takeJobTimes(); // a late report of the turn before belongs to nobody
  for (let turn = 0; turn < TURNS_PER_ROUND; turn++) {
    const exchange = sample[(round * TURNS_PER_ROUND + turn) % sample.length] ?? { user: "", assistant: "" };
    model.answer = exchange.assistant;
    const input = { userId: `${user}-${round % count}`, sessionId: "bench", message: exchange.user };
    const last = await startTurn(graphs[memory], input).ended;
    if (last.status !== "done") throw new Error(`a turn with ${messages} messages failed: ${JSON.stringify(last.content)}`);
    const { completed, timings, receipt, usage, conversation_id: conversationId } = last.content;
    if (!completed || (receipt.summary !== null) !== (memory === "summary"))
      throw new Error(`not as set up: ${JSON.stringify(last.content)}`);
    samples.turnMs.push(timings.total_ms);
    samples.historyMs.push(timings.nodes["history"] ?? Number.NaN);
    samples.windowMessages.push(receipt.window_messages);
    samples.promptTokens.push(usage.prompt_tokens);
    const conversation = { tenantId: "default", userId: input.userId, conversationId };
    if ((await waitUntilSettled({ overview, conversation, timeoutMs: 30_000 })) > 0)
      throw new Error(`the jobs of ${input.userId} were not done within 30 seconds`);
    samples.jobMs.push(...takeJobTimes());
  }
}

/** Measures all sizes round by round, forwards and backwards, after an uncounted warm-up. */
async function measure(parts: Parts, { rounds: count, "warm-up": warmUp }: Numbers, progress: Progress): Promise<MeasuredSize[]> {
  const measured = SIZES.map((of) => ({ of, rounds: [] as Samples[] }));
  for (let round = 0; round < warmUp + count; round++) {
    const isCounted = round >= warmUp;
    for (const { of, rounds } of round % 2 === 0 ? measured : measured.toReversed()) {
      const samples: Samples = { turnMs: [], historyMs: [], jobMs: [], windowMessages: [], promptTokens: [] };
      await runRound(of, round, parts, samples);
      if (isCounted) rounds.push(samples);
    }
    progress.step("rounds", round + 1, warmUp + count);
  }
  return measured;
}

function figuresOf(measured: readonly MeasuredSize[]): Figure[] {
  return (["summary", "no summary"] as const).flatMap((memory) => {
    const own = measured.filter(({ of }) => of.memory === memory);
    const [smallest, largest] = [own[0], own.at(-1)];
    if (!smallest || !largest) return [];
    const parts = { turn: "turnMs", history: "historyMs", "summary job": "jobMs" } as const;
    const tokens = own.map((size) => {
      return figureOf(
        `prompt, ${size.of.messages.toLocaleString("en")} messages, ${memory}`,
        "tokens",
        size.rounds.map(({ promptTokens }) => promptTokens),
      );
    });
    return Object.entries(parts)
      .flatMap(([what, field]) => {
        const label = ({ of }: MeasuredSize): string => `${what}, ${of.messages.toLocaleString("en")} messages, ${memory}`;
        const runsOf = ({ rounds }: MeasuredSize): number[][] => rounds.map((round) => round[field]);
        const timed = own.filter(({ rounds }) => rounds.some((round) => round[field].length > 0));
        const figures = timed.map((size) => {
          return figureOf(label(size), "ms", runsOf(size), size === smallest ? {} : { reference: label(smallest) });
        });
        if (field === "jobMs") return figures;
        const times = ratiosByRound(runsOf(largest), runsOf(smallest));
        const goal = { atMost: MOST_GROWTH };
        return [...figures, figureOf(`${what} with the most messages against the fewest, ${memory}`, "times", times, { goal })];
      })
      .concat(tokens);
  });
}

function windowOf({ of: { memory, messages }, rounds }: MeasuredSize): string {
  const counts = rounds.flatMap(({ windowMessages }) => windowMessages);
  return `${memory}, ${messages.toLocaleString("en")}: ${Math.min(...counts)}–${Math.max(...counts)}`;
}

async function measureConversations(numbers: Numbers, progress: Progress): Promise<{ figures: Figure[]; notes: string[] }> {
  await using opened = new AsyncDisposableStack();
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const database = await openPostgres(postgres.url);
  opened.defer(() => database.close());
  await migrate(database);
  const [{ exchanges: sample } = { exchanges: [] }] = generateDialogues({ count: 1, turns: 200 });
  progress.step("loading the conversations");
  const rest = { user: "other", count: numbers.others, messages: 50, uncovered: HISTORY_WINDOW };
  await loadConversations(postgres.url, sample, [...SIZES, ...CONVERSATIONS, rest]);

  const jobTimes: number[] = [];
  const failures: Error[] = [];
  const onRun = ({ ms, error }: { ms: number; error?: Error }): void => {
    if (error) failures.push(error);
    jobTimes.push(ms);
  };
  const jobs = await runMemoryJobs({ database, summaryModel: null, historyWindow: HISTORY_WINDOW, coreMemory: null, onRun });
  opened.defer(() => jobs.stop(1_000));
  const model = new ScriptedChatModel();
  const common = { database, chatModel: model, historyWindow: HISTORY_WINDOW, coreMemory: null };
  const graphs = {
    summary: createConversationGraph(common),
    "no summary": createConversationGraph({ ...common, summary: null, contextTokenBudget: TOKEN_BUDGET }),
  };
  const parts: Parts = { graphs, model, overview: makeJobOverview(database), sample, takeJobTimes: () => jobTimes.splice(0) };
  const measured = await measure(parts, numbers, progress);
  if (failures[0]) throw failures[0];
  progress.step("branches");
  const figures = [...figuresOf(measured), ...(await measureBranches(database, postgres.url, numbers.rounds))];
  const notes = [
    `In process, without HTTP, on a real Postgres with ${(rest.count * rest.messages).toLocaleString("en")} messages of others; a model without latency. Without summaries a budget of ${TOKEN_BUDGET.toLocaleString("en")} tokens cuts the window.`,
    `Messages in the prompts, fewest and most: ${measured.map(windowOf).join("; ")}.`,
  ];
  return { figures, notes };
}

async function run(numbers: Numbers, progress: Progress): Promise<Measured> {
  const conversations = await measureConversations(numbers, progress);
  if (numbers.size === 0) return conversations;
  const grown = await measureGrownService(numbers, progress);
  return { figures: [...conversations.figures, ...grown.figures], notes: [...conversations.notes, ...grown.notes] };
}

export const growth = defineBench({
  asks: "Does a turn take longer the longer its conversation is, the more branches it has, or the more its service holds",
  minutes: { short: 4, long: 14 },
  numbers: {
    rounds: {
      of: `rounds of ${TURNS_PER_ROUND} turns with each of ${SIZES.length} sizes, and of each kind in both services`,
      short: 6,
      long: 40,
    },
    // About 1,000 turns: until then V8 is still compiling.
    "warm-up": { of: "rounds before the first that counts", short: 4, long: 24 },
    others: { of: "other conversations in the tables, of 50 messages", short: 400, long: 2_000 },
    size: { of: "what the grown service holds, in per cent of its usual size; 0 leaves it out", short: 100, long: 100 },
  },
  run,
});
