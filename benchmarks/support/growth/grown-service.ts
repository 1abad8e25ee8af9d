import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import { type Figure, figureOf, makeSamples, percentile, ratiosByRound, type Samples } from "../figures.ts";
import type { Progress } from "../progress.ts";
import { type Asked, type LayersAtWork, makeLayersAtWork, type MemoryService } from "../service/memory-service.ts";
import { startMemoryService, startMemoryStores } from "../service/memory-service.ts";
import { allJobsDone, exchangeOf, settleAll } from "../service/memory-users.ts";
import { startModel } from "../start-process.ts";
import { BASE, CLERK, DESK, fillDatabase, fillService, type Held, LITTLE, much } from "./fill.ts";
import { startToolServers } from "./tool-servers.ts";

/** Goal: the time of a turn with much over that with little. */
export const MOST_GROWTH = 1.3;

const TURNS_PER_ROUND = 6;
/** Each is asked about something that all users have said, and that the documents have. */
const QUESTIONS = 20;
const OLD_CONVERSATIONS = 10;
const SAMPLE = 10_000;

/** A kind of turn. `held`: what its service holds. */
interface Kind {
  name: string;
  /** It has to answer. Null: the nearest in meaning, which may be one by chance. */
  agent: string | null;
  asked: (question: string, turn: number, held: Held) => Asked;
}

function kindsOf(held: Held): Kind[] {
  const count = (what: keyof Held): string => held[what].toLocaleString("en");
  const assistant = (name: string, asked: Kind["asked"]): Kind => ({ name, agent: "assistant", asked });
  return [
    assistant(`a user with ${count("exchanges")} exchanges`, (message) => {
      return { user: "recalling-0", session: "bench", kb: BASE, message };
    }),
    assistant(`a conversation of ${count("messages")} messages`, (message) => {
      return { user: "talking-0", session: "bench", kb: BASE, message };
    }),
    assistant(`a new conversation beside ${count("conversations")}`, (message, turn) => {
      return { user: "beginning-0", session: `new-${turn}`, kb: BASE, message };
    }),
    assistant(`an old conversation of ${count("conversations")}`, (message, turn, { conversations }) => {
      const number = Math.floor(((turn % OLD_CONVERSATIONS) * conversations) / OLD_CONVERSATIONS);
      return { user: "beginning-0", session: `bench-${number}`, kb: BASE, message };
    }),
    {
      name: `one of ${count("agents")} agents, by its word`,
      agent: DESK,
      asked: (question) => ({ user: "ordinary-0", session: "bench-0", message: `Ask ${DESK}: ${question}` }),
    },
    assistant(`one of ${count("bases")} knowledge bases, by its word`, (question) => {
      return { user: "ordinary-0", session: "bench-1", agent: "assistant", message: `By the ${BASE}: ${question}` };
    }),
    {
      name: `an agent with 3 of ${count("tools")} tools of MCP servers`,
      agent: CLERK,
      asked: (question) => ({ user: "ordinary-0", session: "bench-2", agent: CLERK, message: `${question} Please call 1 tools.` }),
    },
    { name: "agent and knowledge base by meaning", agent: null, asked: (message) => ({ user: "ordinary-0", session: "bench-3", message }) },
  ];
}

const PLACES = ["grown", "empty"] as const;
type Place = (typeof PLACES)[number];
const WHAT = ["first token", "turn"] as const;
const NODE = "node: ";
const nameOf = (what: string, kind: Kind, place: Place): string => `${what}, ${kind.name}, ${place}`;

interface Filled {
  service: MemoryService;
  held: Held;
  layers: LayersAtWork;
}

/** Has the turns of one round and kind; each waits for the jobs of the one before. */
async function runTurns({ service, held, layers }: Filled, kind: Kind, round: number): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {};
  const add = (what: string, ms: number): void => void (times[what] ??= []).push(ms);
  for (let turn = round * TURNS_PER_ROUND; turn < (round + 1) * TURNS_PER_ROUND; turn++) {
    const question = `${exchangeOf(turn % QUESTIONS).user} (${turn})`;
    const { firstTokenMs, totalMs, result } = await service.ask(kind.asked(question, turn, held));
    if (result.agent !== (kind.agent ?? result.agent) || (kind.agent === CLERK) !== (result.tool_calls === 1))
      throw new Error(`${kind.name}, ${service.name}: not as set up: ${JSON.stringify(result)}`);
    layers.count(result);
    add("first token", firstTokenMs);
    add("turn", totalMs);
    for (const [node, ms] of Object.entries(result.timings.nodes)) add(NODE + node, ms);
    await settleAll(service.url, [result.conversation_id]);
  }
  return times;
}

function ratioOf(what: string, kind: Kind, samples: Samples): Figure {
  const [own, other] = [samples.runs(nameOf(what, kind, "grown")), samples.runs(nameOf(what, kind, "empty"))];
  const medians = [own, other].map((rounds) => percentile(rounds.flat(), 0.5).toFixed(1));
  const name = `${what}, ${kind.name}, grown to empty (${medians.join(" to ")} ms)`;
  return figureOf(name, "times", ratiosByRound(own, other), { goal: { atMost: MOST_GROWTH } });
}

/** The nodes that take at least so much longer, in milliseconds. */
const WORTH_TELLING = 1;

function tellNodes(kind: Kind, samples: Samples): string {
  const median = (what: string, place: Place): number => percentile(samples.runs(nameOf(what, kind, place)).flat(), 0.5);
  const nodes = new Set(samples.names().flatMap((name) => (name.startsWith(NODE) ? (name.split(",")[0] ?? []) : [])));
  const longer = [...nodes].flatMap((node) => {
    const [grown, empty] = [median(node, "grown"), median(node, "empty")];
    return grown - empty >= WORTH_TELLING ? [`${node.slice(NODE.length)} ${grown.toFixed(1)} to ${empty.toFixed(1)}`] : [];
  });
  return `${kind.name}: ${longer.join(", ") || "none"}`;
}

type Numbers = Record<"rounds" | "warm-up" | "size", number>;

/** Measures the same turns in a service that holds much and in one that holds little, round by round. */
export async function measureGrownService(numbers: Numbers, progress: Progress): Promise<{ figures: Figure[]; notes: string[] }> {
  const { rounds, "warm-up": warmUp, size } = numbers;
  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened);
  const stores = await startMemoryStores(opened);
  const [{ exchanges: sample } = { exchanges: [] }] = generateDialogues({ count: 1, turns: SAMPLE });
  const start = async (place: Place, toHold: Held): Promise<Filled> => {
    const environment = { ...(await stores.open()), ...(await startToolServers(toHold.tools, opened)) };
    progress.step(`${place} service: loading`);
    await fillDatabase(environment.DATABASE_URL, sample, toHold, (done, total) => progress.step(`${place} service: indexing`, done, total));
    const service = await startMemoryService(place, model.line, environment);
    opened.defer(() => service.process.stop());
    await fillService(service.url, toHold);
    await allJobsDone(service.url);
    return { service, held: toHold, layers: makeLayersAtWork() };
  };
  const held = much(size);
  const filled = { grown: await start("grown", held), empty: await start("empty", LITTLE) };

  const kinds = kindsOf(held);
  const samples = makeSamples();
  for (let round = 0; round < warmUp + rounds; round++) {
    progress.step("grown and empty service: rounds", round, warmUp + rounds);
    for (const kind of kinds) {
      for (const place of round % 2 === 0 ? PLACES : PLACES.toReversed()) {
        const times = await runTurns(filled[place], kind, round);
        if (round < warmUp) continue;
        for (const [what, ms] of Object.entries(times)) samples.add(nameOf(what, kind, place), round - warmUp, ...ms);
      }
    }
  }
  const figures = kinds.flatMap((kind) => WHAT.map((what) => ratioOf(what, kind, samples)));
  const notes = [
    `The grown service holds all of this at once, the empty one as much as the same turns need; every layer is on, both are on one Postgres (vectors: ${stores.vectors}). ${TURNS_PER_ROUND} turns of each kind in a round. Agents and bases are named, or found by a word, but for the last kind.`,
    `A turn recalls among all exchanges of its user: also the user of the long conversation has ${(held.messages / 2).toLocaleString("en")}, and that of the many conversations one in each.`,
    `Grown: ${filled.grown.layers.tell()} Empty: ${filled.empty.layers.tell()}`,
    `Nodes of the graph that take ${WORTH_TELLING} ms longer, in ms, grown to empty: ${kinds.map((kind) => tellNodes(kind, samples)).join("; ")}.`,
  ];
  return { figures, notes };
}
