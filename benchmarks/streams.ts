import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { defineBench } from "./support/bench.ts";
import { makeSamples } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";
import { startModel, startService } from "./support/start-process.ts";

const TOKENS = 2_000;
/** Microseconds of a token. */
const MOST_ABOVE_US = 40;
const OWN = "our own stream";

type Mode = "messages-tuple" | "values" | "events";
/** What a client asks LangGraph's protocol for; null: our own stream. */
const WAYS: readonly [name: string, modes: readonly Mode[] | null][] = [
  [OWN, null],
  ["messages-tuple", ["messages-tuple"]],
  ["values", ["values"]],
  ["messages-tuple, values and events", ["messages-tuple", "values", "events"]],
];

async function readAll(url: string, body: object): Promise<number> {
  const began = performance.now();
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  let last = "";
  for await (const chunk of response.body ?? []) last = (last + Buffer.from(chunk as Uint8Array).toString("latin1")).slice(-2_000_000);
  const ms = performance.now() - began;
  const isWhole = response.ok && !last.includes("event: error") && last.includes(`word${TOKENS - 1} `);
  if (!isWhole) throw new Error(`status ${response.status}, the answer is not whole: ${last.slice(-300)}`);
  return ms;
}

async function run({ rounds, turns }: Record<"rounds" | "turns", number>, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  progress.step("starting the service");
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const model = await startModel(opened, TOKENS);
  const off = { ENABLE_EPISODIC_MEMORY: "false", ENABLE_CORE_MEMORY: "false", ENABLE_SUMMARY: "false" };
  const service = await startService(model.line, { DATABASE_URL: postgres.url, ...off });
  opened.defer(() => service.stop());
  let users = 0;
  /** In a conversation of its own: an earlier answer would be part of the next prompt. */
  function turn(modes: readonly Mode[] | null): Promise<number> {
    const user_id = `user-${users++}`;
    if (!modes) return readAll(`${service.line}/api/v1/chat/stream`, { user_id, session_id: user_id, message: "Talk." });
    const input = { messages: [{ type: "human", content: "Talk." }] };
    const asked = { assistant_id: "assistant", input, context: { user_id }, stream_mode: modes, if_not_exists: "create" };
    return readAll(`${service.line}/langgraph/threads/${crypto.randomUUID()}/runs/stream`, asked);
  }

  const samples = makeSamples();
  const perToken = (ms: number): number => (ms * 1_000) / TOKENS;
  for (let round = 0; round <= rounds; round++) {
    progress.step("rounds", round, rounds + 1);
    const medians = new Map<string, number>();
    for (const [name, modes] of WAYS) {
      const cpu = service.cpuMs();
      const times: number[] = [];
      for (let index = 0; index < turns; index++) times.push(perToken(await turn(modes)));
      if (round === 0) continue; // the code is compiled
      samples.add(name, round - 1, ...times);
      samples.add(`${name}, CPU`, round - 1, perToken((service.cpuMs() - cpu) / turns));
      medians.set(name, times.toSorted((one, other) => one - other)[Math.floor(turns / 2)] ?? Number.NaN);
    }
    const own = medians.get(OWN);
    if (own === undefined) continue;
    for (const [name, median] of medians) if (name !== OWN) samples.add(`${name}, above`, round - 1, median - own);
  }
  const figures = WAYS.flatMap(([name, modes]) => [
    samples.figure(name, "µs a token", modes ? { reference: OWN } : {}),
    samples.figure(`${name}, CPU`, "µs a token", modes ? { reference: `${OWN}, CPU` } : {}),
    ...(modes
      ? [samples.figure(`${name}, above`, "µs a token", name === "messages-tuple" ? { goal: { atMost: MOST_ABOVE_US } } : {})]
      : []),
  ]);
  const notes = [
    `Answers of ${TOKENS.toLocaleString("en")} tokens from a model that does not pause, read to their end, on Postgres without layers of memory. "Above" is the difference of the medians of each round.`,
  ];
  return { figures, notes };
}

export const streams = defineBench({
  asks: "What does LangGraph's protocol cost above our own stream",
  minutes: { short: 1, long: 3 },
  numbers: {
    rounds: { of: "rounds", short: 3, long: 10 },
    turns: { of: "turns of each way in a round", short: 5, long: 10 },
  },
  run,
});
