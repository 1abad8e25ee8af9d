import { afterEach, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { callApi, listConversations, messagesOf } from "../../support/clients/api-client.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { openPostgresAndMilvus } from "../../support/databases/postgres-and-milvus.ts";
import { wordsKept } from "../../support/databases/scan-tables.ts";
import { coreMemoryApi } from "../../support/services/service-with-core-memory.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { whyNoMilvus } from "../../servers/milvus-server.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil, within } from "../../support/wait-until.ts";

const USERS = Array.from({ length: 20 }, (_, number) => `user ${number}`);
/** Every other one is erased again and again, and at the end for good. */
const isErased = (user: string): boolean => USERS.indexOf(user) % 2 === 0;
const ROUNDS = 4;
const LATEST_MS = 1_500;
/** Jobs of a killed process come back within 30 s. */
const ALL_DONE_MS = 180_000;

const seed = Number(process.env["ERASE_SEED"] ?? Date.now() % 1_000_000);
const random = makeSeededRandom(seed);
const letters = (number: number): string => [...String(number)].map((digit) => "bcdfghklmn"[Number(digit)]).join("");
/** A word that only this user says: the name of a town, so that core memory learns it. */
const canary = (user: string): string => `Zan${letters(USERS.indexOf(user))}aa`;
const town = (user: string, turn: number): string => `${canary(user)}${letters(turn)}`;

const withMessage = (user_message: string): unknown => expect.arrayContaining([expect.objectContaining({ user_message })]);

describeUnless(await whyNoMilvus(), `while ${USERS.length} users talk to two processes that are killed -9 (ERASE_SEED=${seed}),`, () => {
  const servers = useOpened(openPostgresAndMilvus, 120_000);
  afterEach(killServiceProcesses);

  const settings = { ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true", TURN_LEASE_MS: "2000" };
  const early = { SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2", HISTORY_WINDOW: "2" };
  const start = (): Promise<ServiceProcess> => startServiceProcess({ ...servers.environment, ...settings, ...early });

  test("an erased user leaves nothing anywhere, and the others lose nothing", async () => {
    const { database, store } = servers;
    const services = await Promise.all([start(), start()]);
    const killed = new Set<ServiceProcess>();
    const anyService = (): ServiceProcess => services[random(2)] as ServiceProcess;
    const tell = (): string =>
      `seed ${seed}; the services printed: ${services.map((service) => service.output().slice(-3_000)).join("\n---\n")}`;
    const acknowledged = new Map<string, string[]>(USERS.map((user) => [user, []]));
    let turns = 0;

    /** One turn; only a process that is killed may fail it, or the erase of its user. Calls `onBegun` when it is under way. */
    async function ask(user: string, onBegun: () => void = () => undefined): Promise<void> {
      const service = anyService();
      const message = `I moved to ${town(user, turns++)}.`;
      try {
        const body = { user_id: user, session_id: "s", message, on_busy: "enqueue" };
        const onEvent = ({ data }: { data: { status: string } }): void => void (data.status === "token" && onBegun());
        const { events } = await within("a turn", postTurn(service.url, body, { onEvent }), tell);
        const last = events.at(-1)?.data;
        if (last?.status === "done" && contentOf(events, "done").completed) acknowledged.get(user)?.push(message);
        else if (!isErased(user)) throw new Error(`a turn of ${user} ended with ${JSON.stringify(last)}; ${tell()}`);
      } catch (error) {
        if (!killed.has(service)) throw error;
        await sleep(100);
      } finally {
        onBegun();
      }
    }

    /** Erases until a process has said that it did. */
    async function erase(user: string): Promise<void> {
      for (;;) {
        const service = anyService();
        try {
          const answer = await within(
            "an erase",
            callApi(`${service.url}/api/v1/users/${encodeURIComponent(user)}`, { method: "DELETE" }),
            tell,
          );
          expect([200, 202]).toContain(answer.status);
          acknowledged.set(user, []);
          return;
        } catch (error) {
          if (!killed.has(service)) throw error;
          await sleep(100);
        }
      }
    }

    async function killAndStart(which: number): Promise<void> {
      const service = services[which] as ServiceProcess;
      await sleep(random(LATEST_MS));
      killed.add(service);
      service.kill("SIGKILL");
      await within("the end of the process", service.exited, tell);
      services[which] = await within("the start", start(), tell);
    }

    async function talkAndErase(user: string): Promise<void> {
      await ask(user);
      if (!isErased(user)) return ask(user);
      const second = ask(user);
      await sleep(random(LATEST_MS));
      await erase(user);
      await second;
    }

    for (let round = 0; round < ROUNDS; round++) await Promise.all([...USERS.map(talkAndErase), killAndStart(random(2))]);

    /** The last of an erased user: a turn that is under way when it is erased, and jobs of earlier ones. All others get an answer at least now. */
    async function finish(user: string): Promise<void> {
      if (!isErased(user)) {
        do await ask(user);
        while (acknowledged.get(user)?.length === 0);
        return;
      }
      const begun = Promise.withResolvers<void>();
      const turn = ask(user, begun.resolve);
      await begun.promise;
      await erase(user);
      await turn;
    }
    await Promise.all([...USERS.map(finish), killAndStart(random(2))]);

    const [service] = services;
    const { episodes, settle } = conversationApi(service.url);
    const unfinished = "select from pgboss.job where state < 'completed'";
    const untilNone = (text: string) =>
      waitUntil("all jobs are done", async () => (await database.query({ text })).length === 0, ALL_DONE_MS);
    await untilNone(`${unfinished} and not (data->>'kind' = 'erase_episodes' and start_after > now())`);
    // Nothing that wrote to the index before an erase runs any more: its second clearing need not wait.
    await database.query({ text: "update pgboss.job set start_after = now() where state < 'active' and start_after > now()" });
    await untilNone(unfinished);

    for (const user of USERS.filter(isErased)) {
      expect([user, await findResidualData(database, store, { tenantId: "default", userId: user })]).toEqual([user, []]);
      expect(await wordsKept(database, `(?i)${canary(user)}`)).toEqual([]);
    }

    for (const user of USERS.filter((one) => !isErased(one))) {
      const said = acknowledged.get(user) ?? [];
      const messages = await messagesOf(service.url, user, "s");
      const listed = messages.filter(({ role }) => role === "user").map(({ content }) => content);
      expect(listed).toEqual(expect.arrayContaining(said));
      expect(new Set(listed).size).toBe(listed.length);
      for (const message of said) {
        const query = message.slice("I moved to ".length, -1);
        // A search that a busy machine did not finish in time says so; one that is whole has everything that was acknowledged.
        const recalled = await waitUntil(`${message} is searched for`, async () => {
          const { json } = await episodes(user, { query });
          return json.degraded.length === 0 && json;
        });
        expect({ user, recalled }).toEqual({ user, recalled: { degraded: [], episodes: withMessage(message), next: null } });
      }
      const core = await coreMemoryApi(service.url).contents(user);
      // Of what is stored: a process may be killed between storing an answer and telling it, and then nobody has acknowledged the last.
      const answered = messages.findLast(({ role, completed }) => role === "assistant" && completed);
      const last = messages.find(({ role, metadata }) => role === "user" && metadata["turn_id"] === answered?.metadata["turn_id"]);
      expect(listed.indexOf(last?.content ?? "")).toBeGreaterThanOrEqual(listed.indexOf(said.at(-1) ?? ""));
      expect(Object.values(core).join("\n")).toContain(last?.content.slice("I moved to ".length, -1));
      const [conversation] = await listConversations(service.url, user);
      expect(await settle(conversation?.id ?? "")).toEqual({ settled: true, pending: 0 });
    }
    expect(USERS.filter((user) => !isErased(user)).every((user) => (acknowledged.get(user)?.length ?? 0) > 0)).toBe(true);
  }, 900_000);
});
