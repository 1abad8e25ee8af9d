import { afterEach, expect, test } from "@jest/globals";
import type { JobKind } from "../../../stores/jobs/job.ts";
import { callApi, listConversations, listMessages } from "../../support/clients/api-client.ts";
import { FAULTS, MATRIX, WAYS, type Cell, type Dependency, type Fault } from "./fault-matrix.ts";
import { newWord, openFaultStage, USER, type FaultStage, type SeenTurn } from "./fault-stage.ts";
import { whyNoMilvus } from "../../servers/milvus-server.ts";
import { spawnService, startServiceProcess } from "../../servers/service-process.ts";
import { freePort } from "../../servers/free-port.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

const question = (word: string): string => `Which director do I like? I wear a ${word} hat.`;
/** Words that only a server knows, and what the layers between would say. */
const RAW = /secret words|ECONN|127\.0\.0\.1|node_modules/;
const RECOVERY_MS = 90_000;

const api = <Body>(stage: FaultStage, path: string, method = "GET"): Promise<{ status: number; json: Body }> =>
  callApi<Body>(`${stage.url()}${path}`, { method });

type ShownJob = { kind: JobKind; state: string; attempts: number };

async function openJobs(stage: FaultStage, conversationId: string): Promise<ShownJob[]> {
  return (await api<{ jobs: ShownJob[] }>(stage, `/api/v1/conversations/${conversationId}/jobs`)).json.jobs;
}

/** Waits until only these kinds of jobs are left, each of which has failed, or runs for long when nothing answers it. */
async function expectWaiting(stage: FaultStage, conversationId: string, kinds: readonly JobKind[], fault: Fault): Promise<void> {
  const isHeldUp = ({ state, attempts }: ShownJob): boolean => attempts > 0 || (fault === "hangs" && state === "running");
  const areLeft = async (): Promise<boolean> => {
    const jobs = await openJobs(stage, conversationId);
    const left = jobs.map(({ kind }) => kind).toSorted();
    return jobs.every(isHeldUp) && left.join() === kinds.toSorted().join();
  };
  await waitUntil(`no jobs are left but ${kinds.join()}`, areLeft, RECOVERY_MS);
}

async function searchIsWhole(stage: FaultStage): Promise<void> {
  const search = () => api<{ degraded: string[] }>(stage, `/api/v1/users/${USER}/episodes?query=director`);
  await waitUntil("searches are whole", async () => (await search()).json.degraded?.length === 0, RECOVERY_MS);
}

async function wholeTurn(stage: FaultStage, session: string): Promise<string> {
  for (let tries = 1; ; tries++) {
    const word = newWord();
    const { outcome, text, result } = await stage.ask(session, question(word));
    expect({ outcome, text }).toMatchObject({ outcome: "done" });
    if (result?.degraded.length === 0 && result.receipt.episodes.length > 0) return word;
    if (tries === 4) throw new Error(`no turn is whole: ${text}`);
    await searchIsWhole(stage);
  }
}

async function expectNothingDoubled(stage: FaultStage, conversationId: string): Promise<void> {
  const messages = await listMessages(stage.url(), conversationId);
  const questions = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  expect(questions).toEqual([...new Set(questions)]);
  const answers = messages.filter(({ role, completed }) => role === "assistant" && completed).map(({ content }) => content);
  expect(answers.toSorted()).toEqual(questions.map((asked) => `re: ${asked}`).toSorted());
}

async function expectRemembered(stage: FaultStage, conversationId: string, words: readonly string[]): Promise<void> {
  const { json: settled } = await api<unknown>(stage, `/api/v1/conversations/${conversationId}/settle?timeout_ms=${RECOVERY_MS}`, "POST");
  expect({ settled, jobs: await openJobs(stage, conversationId) }).toEqual({ settled: { settled: true, pending: 0 }, jobs: [] });
  const user = `/api/v1/users/${USER}`;
  type Operations = { operations: { operation: string; new_value: string | null }[] };
  const { json } = await api<Operations>(stage, `${user}/memory-operations?limit=200`);
  for (const word of words) {
    const { json: found } = await api<{ episodes: { user_message: string }[] }>(stage, `${user}/episodes?query=${word}&limit=100`);
    expect(found.episodes.filter(({ user_message }) => user_message.includes(word))).toHaveLength(1);
    expect(json.operations.filter(({ new_value }) => new_value?.includes(word)).map(({ operation }) => operation)).toEqual(["core_update"]);
  }
  const { json: summarised } = await api<{ summary: { text: string } | null }>(stage, `/api/v1/conversations/${conversationId}/summary`);
  expect(summarised.summary?.text).toBe("They spoke of hats.");
  const held = await stage.database.query({ text: "select id from conversations where turn_id is not null" });
  const dead = await stage.database.query({ text: "select id from pgboss.job where name = 'memory_dead' or state = 'failed'" });
  expect({ held, dead }).toEqual({ held: [], dead: [] });
}

/** A model's server is asked every five seconds at most. */
async function expectReadiness(stage: FaultStage, down: Cell["down"] | "" = ""): Promise<void> {
  const expected = down === "postgres" ? 503 : 200;
  const isSo = async (): Promise<boolean> => {
    const { status, json } = await api<{ dependencies: Record<string, string> }>(stage, "/readyz");
    const isDown = Object.entries(json.dependencies).filter(([, state]) => state === "down");
    return status === expected && isDown.map(([name]) => name).join() === down;
  };
  await waitUntil(`/readyz answers ${expected}, and down is "${down}"`, isSo);
}

function expectOutcome(cell: Cell, during: SeenTurn): void {
  const { outcome, text, result } = during;
  expect({ outcome, text }).toMatchObject({ outcome: cell.turn });
  if (result) expect(result.degraded.toSorted()).toEqual(cell.degraded ?? []);
  expect(text).not.toMatch(RAW);
  expect(during.ms).toBeLessThan(cell.within);
}

async function playCell(stage: FaultStage, session: string, fault: Fault, cell: Cell, begin: () => Promise<void>): Promise<void> {
  const before = newWord();
  const word = newWord();
  expect(await stage.ask(session, question(before))).toMatchObject({ outcome: "done" });
  const conversationId = (await listConversations(stage.url(), USER)).find(({ session_id }) => session_id === session)?.id ?? "";
  await api(stage, `/api/v1/conversations/${conversationId}/settle?timeout_ms=${RECOVERY_MS}`, "POST");

  await begin();
  const during = await stage.ask(session, question(word));
  expectOutcome(cell, during);
  await expectReadiness(stage, cell.down);
  // How many jobs a slow Postgres has let end by now depends on the machine; that none is lost shows after it is well again.
  if (during.outcome === "done" && cell.down !== "postgres") await expectWaiting(stage, conversationId, cell.waits ?? [], fault);

  await stage.proxy.restore();
  await waitUntil("the same request is answered", async () => (await stage.ask(session, question(word))).outcome === "done", RECOVERY_MS);
  await searchIsWhole(stage);
  const after = await wholeTurn(stage, session);
  await expectReadiness(stage);
  await expectRemembered(stage, conversationId, [before, word, after]);
  await expectNothingDoubled(stage, conversationId);
}

export async function testFaultsOf(dependency: Dependency): Promise<void> {
  const row = MATRIX[dependency];
  const cells = FAULTS.flatMap((fault) =>
    Object.keys(WAYS[fault]).map((way) => ({ fault, way, name: way === "" ? fault : `${fault}: ${way}` })),
  );

  describeUnless(await whyNoMilvus(), `a fault of ${dependency}`, () => {
    const stage = useOpened(() => openFaultStage(dependency), 180_000);
    afterEach(() => stage.proxy.restore());

    test.each(cells.map((cell) => [cell.name, cell] as const))("(%s) ends a turn as the matrix says", async (name, { fault, way }) => {
      const begin = async (): Promise<void> => {
        if (fault === "down at start") await stage.stop();
        await WAYS[fault][way]?.(stage.proxy, dependency);
        if (fault === "down at start") await stage.start();
      };
      if (row[fault].turn === "no start") await expectNoStart(stage);
      else await playCell(stage, name, fault, { ...row[fault], ...row[fault].ways?.[way] }, begin);
    });
  });
}

async function expectNoStart(stage: FaultStage): Promise<void> {
  await stage.proxy.refuse();
  const refused = spawnService({ ...stage.environment, PORT: String(await freePort()) });
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toMatch(/Postgres at .* cannot be used \(ECONNREFUSED\)/);
  await stage.proxy.restore();
  const service = await startServiceProcess(stage.environment);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
}
