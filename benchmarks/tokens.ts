import { defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import { runMemoryJobs } from "../memory/run-memory-jobs.ts";
import { makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../stores/postgres/database/open-embedded-postgres.ts";
import { countFigures } from "./support/dialogues/count-figures.ts";
import type { Dialogue } from "./support/dialogues/dialogue.ts";
import type { Progress } from "./support/progress.ts";
import { generateDialogues } from "./support/dialogues/generate-dialogues.ts";
import { playDialogue, ScriptedChatModel, type TurnTokens } from "./support/dialogues/play-dialogue.ts";
import { readDialogues } from "./support/dialogues/read-dialogues.ts";
import { compareWithWholeHistory, type PlayedSet, shareInCommon, tokenFigures } from "./support/dialogues/token-figures.ts";

const POINTS = [10, 20, 50, 100, 500];
/** Turns from one summary to the next: the window grows meanwhile (SUMMARY_UPDATE_DELTA is 5 messages). */
const PERIOD = 3;

type Numbers = Record<"dialogues" | "turns", number>;

/** Generated dialogues, and with CONVERSATION_DATA those of people. The figures over all sets are then of people only. */
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
