import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { answerTo, answerWithFacts, factsIn, question, SUMMARY_MODEL } from "./fact-model.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { expectEachVersionRight, readRecorded, recordSummaries } from "./summary-history.ts";
import { within } from "../../support/within.ts";

const ROUNDS = 20;
const SESSIONS = ["one", "two", "three"];
const TURNS_A_ROUND = 3;
/** A kill comes within this time, in which the turns of a round and the summaries behind them are under way. */
const LATEST_KILL_MS = 600;
const HISTORY_WINDOW = 2;
const UPDATE_DELTA = 2;
/** Two minutes on two cores that have nothing else to do. */
const TIMEOUT_MS = 600_000;

const seed = Number(process.env["SUMMARY_CRASH_SEED"] ?? Date.now() % 1_000_000);
const random = makeSeededRandom(seed);

let model: ModelServer;
let place: Awaited<ReturnType<typeof createRealDatabase>>;
let database: Database;
beforeEach(async () => {
  [model, place] = await Promise.all([startModelServer({ keepSeen: false }), createRealDatabase()]);
  database = await openPostgres(place.url);
  await recordSummaries(database);
});
afterEach(async () => {
  await killServiceProcesses();
  await model.close();
  await database.close();
  await place.drop();
});

const start = (): Promise<ServiceProcess> =>
  startServiceProcess({
    DATABASE_URL: place.url,
    OPENAI_BASE_URL: model.url,
    SUMMARY_MODEL,
    TURN_LEASE_MS: "1000",
    SUMMARY_MIN_MESSAGES: "4",
    SUMMARY_UPDATE_DELTA: String(UPDATE_DELTA),
    HISTORY_WINDOW: String(HISTORY_WINDOW),
  });

test(
  `${ROUNDS} kills -9 at random moments of two processes leave every acknowledged turn once, and summaries that count each message once (SUMMARY_CRASH_SEED=${seed})`,
  async () => {
    answerWithFacts(model, random, 2);
    const services = await Promise.all([start(), start()]);
    const killed = new Set<ServiceProcess>();
    const tell = (): string => `seed ${seed}; the services printed: ${services.map((service) => service.output()).join("\n---\n")}`;
    const acknowledged: string[] = [];
    let turns = 0;

    /** One turn; only a process that is killed may fail it. */
    async function ask(sessionId: string, service: ServiceProcess): Promise<void> {
      const asked = question(turns++);
      try {
        const body = { user_id: "ada", session_id: sessionId, message: asked, on_busy: "enqueue" };
        const { events } = await within(`the turn ${asked}`, postTurn(service.url, body), tell);
        expect(contentOf(events, "done")).toMatchObject({ answer: `noted ${answerTo(asked)}`, completed: true });
        acknowledged.push(asked);
      } catch (error) {
        if (!killed.has(service)) throw error;
        await sleep(100);
      }
    }

    async function talk(sessionId: string): Promise<void> {
      for (let turn = 0; turn < TURNS_A_ROUND; turn++) await ask(sessionId, services[random(2)] as ServiceProcess);
    }

    async function killAndStart(which: number): Promise<void> {
      const service = services[which] as ServiceProcess;
      await sleep(random(LATEST_KILL_MS));
      killed.add(service);
      service.kill("SIGKILL");
      expect(await within("the end of the process", service.exited, tell)).toBeNull();
      services[which] = await within("the start", start(), tell);
    }

    for (let round = 0; round < ROUNDS; round++) {
      const victims = random(5) === 0 ? [0, 1] : [random(2)];
      await Promise.all([...SESSIONS.map(talk), ...victims.map(killAndStart)]);
    }

    // What a killed process had claimed comes back within 30 s.
    answerWithFacts(model, random, 0);
    const [service] = services;
    for (const sessionId of SESSIONS) await ask(sessionId, service);
    for (const { id } of await listConversations(service.url, "ada")) {
      const settling = postJson<unknown>(`${service.url}/api/v1/conversations/${id}/settle?timeout_ms=60000`, {});
      expect((await within("settle", settling, tell, 70_000)).json).toEqual({ settled: true, pending: 0 });
    }

    const conversations = await readRecorded(database);
    expect(conversations.map(({ session_id }) => session_id)).toEqual(SESSIONS.toSorted());
    const said = conversations.flatMap(({ messages }) => messages.filter(({ completed }) => completed));
    const facts = said.flatMap(({ content }) => factsIn(content));
    expect(facts).toHaveLength(new Set(facts).size);
    expect(facts).toEqual(expect.arrayContaining(acknowledged.flatMap((asked) => [asked, answerTo(asked)])));
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
    for (const conversation of conversations) {
      expectEachVersionRight(conversation, HISTORY_WINDOW);
      expect(conversation.versions.at(-1)?.uncovered ?? 0).toBeLessThan(HISTORY_WINDOW + UPDATE_DELTA);
      const completed = conversation.messages.filter((message) => message.completed).length;
      const covered = conversation.versions.at(-1)?.covered_message_count ?? 0;
      expect(completed - covered).toBeLessThan(HISTORY_WINDOW + UPDATE_DELTA);
    }
  },
  TIMEOUT_MS,
);
