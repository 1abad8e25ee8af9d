import { loadSkillFolders } from "../agents/skills/load-skill-folders.ts";
import { describeSkills, makeLoadSkill } from "../agents/tools/load-skill.ts";
import { toolTokens } from "../agents/loop/fit-loop.ts";
import { openPostgres } from "../stores/postgres/database/open-postgres.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { estimateTokens } from "../text/tokens.ts";
import { defineBench } from "./support/bench.ts";
import { figureOf } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import { readStream } from "./support/read-stream.ts";
import type { Measured } from "./support/results.ts";
import { allJobsDone } from "./support/service/memory-users.ts";
import { startModel, startService } from "./support/start-process.ts";

/** The agent calls so many tools in a turn, each in its own answer. */
const CALLS = 3;
const TURNS_PER_ROUND = 20;
const TURNS_PER_CONVERSATION = 5;
const STREAMS = 10;
/** The goal for a call: CPU of the service's process, with the model's answer that asks for it. */
const MOST_CPU_MS = 6;

const SKILLS = 50;

/** Tokens of a prompt that lists fifty skills, and of one with all their instructions. */
async function measureSkills(): Promise<{ listed: number; whole: number }> {
  const examples = await loadSkillFolders("examples/skills");
  const skills = Array.from({ length: SKILLS }, (_, index) => {
    const example = examples[index % examples.length];
    if (!example) throw new Error("examples/skills has no skill");
    return { ...example, name: `${example.name}-${index}` };
  });
  const tool = makeLoadSkill(skills, { read: async () => null });
  return {
    listed: estimateTokens(describeSkills(skills)) + toolTokens([tool]),
    whole: estimateTokens(skills.map(({ files }) => files["SKILL.md"]).join("\n")),
  };
}

async function run({ rounds, "warm-up": warmUp }: Record<"rounds" | "warm-up", number>, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  progress.step("starting the service");
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const model = await startModel(opened);
  const service = await startService(model.line, { DATABASE_URL: postgres.url, ENABLE_EPISODIC_MEMORY: "false" });
  opened.defer(() => service.stop());
  const spec = { description: "Tells the time", tools: ["current_time"] };
  const made = await fetch(`${service.line}/api/v1/agents/clock`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(spec),
  });
  if (!made.ok) throw new Error(`the agent was not made: ${await made.text()}`);

  let turns = 0;
  const ask = (agent: string): Promise<{ totalMs: number }> => {
    const session = `${agent}-${Math.floor(turns++ / TURNS_PER_CONVERSATION)}-${turns % STREAMS}`;
    const message = `Turn ${turns}: call ${CALLS} tools and answer with forty words.`;
    return readStream(`${service.line}/api/v1/chat/stream`, { user_id: session, session_id: session, message, agent, on_busy: "enqueue" });
  };
  async function measureCpu(agent: string, times: number[]): Promise<number> {
    const before = service.cpuMs();
    for (let turn = 0; turn < TURNS_PER_ROUND; turn++) times.push((await ask(agent)).totalMs);
    await allJobsDone(service.line);
    return (service.cpuMs() - before) / TURNS_PER_ROUND;
  }

  const cpu = { assistant: [] as number[][], clock: [] as number[][], call: [] as number[][] };
  const ms = { assistant: [] as number[][], clock: [] as number[][] };
  const callsASecond: number[][] = [];
  for (let round = -warmUp; round < rounds; round++) {
    progress.step("rounds", warmUp + round, warmUp + rounds);
    const [plainMs, agentMs]: [number[], number[]] = [[], []];
    const plain = await measureCpu("assistant", plainMs);
    const clock = await measureCpu("clock", agentMs);
    const began = performance.now();
    await Promise.all(
      Array.from({ length: STREAMS }, async () => {
        for (let turn = 0; turn < TURNS_PER_ROUND / STREAMS; turn++) await ask("clock");
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    if (round < 0) continue;
    cpu.assistant.push([plain]);
    cpu.clock.push([clock]);
    cpu.call.push([(clock - plain) / CALLS]);
    ms.assistant.push(plainMs);
    ms.clock.push(agentMs);
    callsASecond.push([(TURNS_PER_ROUND * CALLS) / seconds]);
  }

  const database = await openPostgres(postgres.url);
  opened.defer(() => database.close());
  const text = `select count(*)::int as steps, count(*) filter (where kind = 'tool')::int as calls, pg_total_relation_size('turn_steps')::float8 as bytes from turn_steps`;
  const [stored = { steps: 0, calls: 0, bytes: 0 }] = await database.query<{ steps: number; calls: number; bytes: number }>({ text });
  const skills = await measureSkills();
  const figures = [
    figureOf("CPU that a call adds, with the model's answer that asks for it", "ms", cpu.call, { goal: { atMost: MOST_CPU_MS } }),
    figureOf("CPU of a turn of the assistant", "ms", cpu.assistant),
    figureOf(`CPU of a turn with ${CALLS} calls`, "ms", cpu.clock, { reference: "CPU of a turn of the assistant" }),
    figureOf("turn of the assistant", "ms", ms.assistant),
    figureOf(`turn with ${CALLS} calls`, "ms", ms.clock, { reference: "turn of the assistant" }),
    figureOf(`calls a second, ${STREAMS} streams`, "calls/s", callsASecond),
    figureOf("a step in Postgres, with its index", "bytes", [[stored.bytes / Math.max(1, stored.steps)]]),
    figureOf(`prompt with ${SKILLS} skills, name and description`, "tokens", [[skills.listed]]),
    figureOf(`prompt with the instructions of ${SKILLS} skills`, "tokens", [[skills.whole]]),
  ];
  const notes = [
    `The agent calls current_time ${CALLS} times in a turn, each in an answer of its own, then answers with 40 tokens; ${rounds} rounds of ${TURNS_PER_ROUND} turns of each kind after ${warmUp} that warm up, on Postgres without an index, in conversations of about ${TURNS_PER_CONVERSATION} turns. The model waits for nothing.`,
    `${stored.calls} calls were made, and ${stored.steps} steps are stored. The tool itself takes less than 0.1 ms.`,
  ];
  return { figures, notes };
}

export const agents = defineBench({
  asks: "What does a call of a tool cost, and what do steps and skills take",
  minutes: { short: 1, long: 3 },
  numbers: {
    rounds: { of: `rounds of ${TURNS_PER_ROUND} turns of each kind`, short: 3, long: 15 },
    "warm-up": { of: "rounds before the first that counts", short: 2, long: 10 },
  },
  run,
});
