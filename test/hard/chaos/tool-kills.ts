import type { ChatRequestBody, ModelScript } from "../../servers/model-server.ts";
import { fileURLToPath } from "node:url";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { sendAndStay } from "../../servers/real-client.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { type KillsAt, openTwoPlaces } from "./two-places.ts";

export const MAIN = fileURLToPath(new URL("../../servers/tool-service.ts", import.meta.url));
export const LEASE_MS = 1_000;
/** Of a turn with one call, by the agent that makes it or by a member of a team. In a round that asks for more nobody is killed. */
const STATEMENTS = { clerk: 11, boss: 20 };

export const RAN = "It is ordered.";
export const UNKNOWN = "It is not known whether it was ordered.";

/**
 * Orders once. When it is not known whether that ran, it tries to order again, as a careless model does. A lead has its member do so, and
 * says what that says.
 */
export function orderCarelessly({ messages, tools = [] }: ChatRequestBody): ModelScript {
  const [last, question] = [messages.at(-1), messages.findLast(({ role }) => role === "user")];
  const ask = tools.find((tool) => tool.function.name === "ask_agent");
  if (ask) {
    const [agent] = ask.function.parameters?.properties?.["agent"]?.enum ?? [];
    const task = { agent, task: question?.content ?? "" };
    const isAsked = last?.role === "tool" && !last.content.includes('"interrupted"');
    if (!isAsked) return { toolCalls: [{ name: "ask_agent", arguments: task, id: `call-${messages.length}` }] };
    return { tokens: [[RAN, UNKNOWN].find((words) => last.content.includes(words)) ?? last.content] };
  }
  const item = /order (\S+)/.exec(question?.content ?? "")?.[1] ?? "";
  const order = { toolCalls: [{ name: "order", arguments: { item }, id: `call-${messages.length}` }] };
  if (last?.role !== "tool" || last.content.includes('"interrupted"')) return order;
  return { tokens: [last.content.includes(`ordered ${item}`) ? RAN : UNKNOWN] };
}

/** Counts how often the tool ran, by what it was called with. */
export async function startCounter() {
  const runs = new Map<string, number>();
  const server = await startHttpServer((request, response) => {
    const item = decodeURIComponent(request.url?.slice(1) ?? "");
    runs.set(item, (runs.get(item) ?? 0) + 1);
    response.end();
  });
  return { ...server, runs };
}

export interface ToolKills {
  rounds: number;
  kills: number;
  at: KillsAt;
  ran: number;
  unknown: number;
  slowestMs: number;
}

const STEPS = `
select messages.content as question, ok, turn_steps.ended_at is null as "isOpen"
from turn_steps join turns on turns.id = turn_id join messages on messages.id = question_id
where kind = 'tool' and turn_steps.name = 'order'`;

/**
 * Two processes with an agent on the empty database of this URL. In each round somebody orders once, and the process at work is killed at
 * another statement of the turn. Resolves with figures and with everything that was wrong, in words.
 */
export async function killToolTurns(
  databaseUrl: string,
  { rounds, seed, agent }: { rounds: number; seed: number; agent: keyof typeof STATEMENTS },
): Promise<{ figures: ToolKills; wrongs: string[] }> {
  const random = makeSeededRandom(seed);
  await using opened = new AsyncDisposableStack();
  const counter = await startCounter();
  opened.defer(() => counter.close());
  const { runs } = counter;
  const model = await startModelServer({ keepSeen: false });
  opened.defer(() => model.close());
  model.answer(orderCarelessly);
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());

  const environment = { OPENAI_BASE_URL: model.url, COUNTER_URL: counter.origin, ENABLE_SUMMARY: "false", TURN_LEASE_MS: String(LEASE_MS) };
  const { places, at, isKilled, armed, close } = await openTwoPlaces(databaseUrl, environment, MAIN);
  opened.defer(close);
  const figures: ToolKills = { rounds, kills: 0, at, ran: 0, unknown: 0, slowestMs: 0 };
  const wrongs: string[] = [];

  for (let round = 0; round < rounds; round++) {
    const item = `item-${round}`;
    const [place, other] = Math.floor(round / 2) % 2 === 0 ? places : [places[1], places[0]];
    const blow = (round * 7) % (2 * STATEMENTS[agent]); // each statement, before and after, in an order that a few rounds spread out
    const disarm = armed(place, blow);
    let isFirst = true;
    const network = {
      // The first attempt goes to the process that will be killed.
      addresses() {
        const all = isFirst ? [place.service.url] : [place.service.url, other.service.url];
        isFirst = false;
        return all;
      },
      isKilled,
    };
    const body = { user_id: "ada", session_id: item, message: `order ${item}`, agent, interactive: false };
    const report = await sendAndStay(network, { key: `key-${seed}-${round}`, body }, random);
    await disarm();

    const count = runs.get(item) ?? 0;
    const answer = report.done?.answer ?? null;
    const steps = await database.query<{ ok: boolean | null; isOpen: boolean }>({
      text: `${STEPS} and messages.content = $1`,
      values: [`order ${item}`],
    });
    const found = [...report.violations];
    if (count > 1) found.push(`the tool ran ${count} times`);
    if (count === 1 && !steps.some(({ ok, isOpen }) => ok || isOpen)) found.push("the tool ran, and no step says so");
    if (count === 0 && steps.some(({ ok }) => ok)) found.push("a step says that the tool ran, and it did not");
    if (answer === RAN && count !== 1) found.push("the answer says that the tool ran, and it did not");
    if (answer === UNKNOWN && !steps.some(({ isOpen }) => isOpen)) found.push("the answer does not know what the steps know");
    if (answer !== RAN && answer !== UNKNOWN) found.push(`it ended with ${JSON.stringify(answer ?? report.failure)}`);
    if (found.length > 0)
      wrongs.push(`ROUND ${round}, ${item}: ${found.join("; ")}\n  ${report.journal.join("\n  ")}\n  ${JSON.stringify(steps)}`);
    if (answer === RAN) figures.ran++;
    if (answer === UNKNOWN) figures.unknown++;
    figures.slowestMs = Math.max(figures.slowestMs, report.ms);
  }
  figures.kills = Object.values(at).reduce((sum, count) => sum + count, 0);
  return { figures, wrongs };
}
