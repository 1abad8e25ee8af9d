import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const KILLS = 10;
/** Eleven starts take 20 to 30 seconds on two cores that have nothing else to do. */
const TIMEOUT_MS = 240_000;

/** Waits for one step of a round; a step that hangs fails with what the service has printed, long before the whole test would. */
async function step<Result>(name: string, result: Promise<Result>, service?: ServiceProcess): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`${name}: not within 45 s; the service printed: ${service?.output() ?? "unknown"}`)),
    45_000,
  );
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

interface Place {
  environment: Record<string, string>;
  remove: () => Promise<void>;
}

async function onDataFolder(): Promise<Place> {
  const { folder, remove } = await createDataFolder();
  return { environment: { DATA_DIR: folder }, remove };
}

async function onRealPostgres(): Promise<Place> {
  const { url, drop } = await createRealDatabase();
  return { environment: { DATABASE_URL: url }, remove: drop };
}

const ask = (sessionId: string, message: string, fields: object = {}): object => ({
  user_id: "ada",
  session_id: sessionId,
  message,
  ...fields,
});

describe.each([
  ["an embedded database", onDataFolder],
  ["a real Postgres", onRealPostgres],
])("a service on %s that is killed with kill -9", (_name, makePlace) => {
  let model: ModelServer;
  let place: Place;
  beforeEach(async () => {
    [model, place] = await Promise.all([startModelServer(), makePlace()]);
  });
  afterEach(async () => {
    await killServiceProcesses();
    await model.close();
    await place.remove();
  });

  const start = (): Promise<ServiceProcess> =>
    startServiceProcess({ ...place.environment, OPENAI_BASE_URL: model.url, TURN_LEASE_MS: "1000" });

  test(
    "again and again in mid-stream has every acknowledged turn once, and each conversation goes on",
    async () => {
      model.answer(({ messages }) => {
        const asked = messages.at(-1)?.content ?? "";
        return asked.startsWith("long")
          ? { tokens: Array.from({ length: 500 }, (_, index) => `word${index} `), betweenMs: 20 }
          : { tokens: ["answer ", `to ${asked}`] };
      });
      for (let kill = 0; kill < KILLS; kill++) {
        const service = await step("start", start());
        const streaming = Promise.withResolvers<void>();
        const cut = postTurn(service.url, ask("cut", `long ${kill}`, { on_busy: "enqueue" }), {
          onEvent: (_event, sofar) => void (sofar.length > 2 + kill && streaming.resolve()),
        });
        const cutOff = expect(cut).rejects.toThrow();
        await step("the first tokens", streaming.promise, service);
        // The kill comes the moment that `done` is here: what was acknowledged must be on disk by then.
        const acknowledged = postTurn(service.url, ask("acknowledged", `turn ${kill}`), {
          onEvent: ({ data }) => void (data.status === "done" && service.kill("SIGKILL")),
        });
        const refused = await step(
          "done",
          acknowledged.catch(() => undefined),
          service,
        );
        expect(refused?.json).toBeUndefined();
        expect(await step("the end of the process", service.exited, service)).toBeNull();
        await step("the end of the cut stream", cutOff);
      }

      const service = await start();
      const rounds = Array.from({ length: KILLS }, (_, kill) => kill);
      const acknowledged = await messagesOf(service.url, "ada", "acknowledged");
      expect(acknowledged.map(({ role, content, completed }) => [role, content, completed])).toEqual(
        rounds.flatMap((kill) => [
          ["user", `turn ${kill}`, true],
          ["assistant", `answer to turn ${kill}`, true],
        ]),
      );
      const cut = await messagesOf(service.url, "ada", "cut");
      expect(cut.map(({ role, content }) => [role, content])).toEqual(rounds.map((kill) => ["user", `long ${kill}`]));

      for (const session of ["cut", "acknowledged"]) {
        const { events } = await postTurn(service.url, ask(session, "and now?", { on_busy: "enqueue" }));
        expect(contentOf(events, "done")).toMatchObject({ answer: "answer to and now?", completed: true });
        expect((await messagesOf(service.url, "ada", session)).at(-1)?.content).toBe("answer to and now?");
      }
    },
    TIMEOUT_MS,
  );

  test("leaves a conversation that is free again, without waiting in line, once the lease is over", async () => {
    const first = await start();
    model.answer({ tokens: ["word "], ending: "hang" });
    const cut = postTurn(first.url, ask("lease", "cut off"), {
      onEvent: (_event, sofar) => void (sofar.length === 2 && first.kill("SIGKILL")),
    });
    await expect(cut).rejects.toThrow();
    await first.exited;
    const second = await start();
    model.answer({ tokens: ["fine"] });
    await waitUntil("a free conversation", async () => {
      const { status, json } = await postJson(`${second.url}/api/v1/chat`, ask("lease", "and now?"));
      if (status !== 200) expect(json.error.code).toBe("conversation_busy");
      return status === 200;
    });
    expect((await messagesOf(second.url, "ada", "lease")).map(({ content }) => content)).toEqual(["cut off", "and now?", "fine"]);
  });
});

describe("a conversation whose process was killed", () => {
  test("is free in the next process at once when the database is embedded: nobody else can have it", async () => {
    const [model, { environment, remove }] = await Promise.all([startModelServer(), onDataFolder()]);
    const start = (): Promise<ServiceProcess> =>
      startServiceProcess({ ...environment, OPENAI_BASE_URL: model.url, TURN_LEASE_MS: String(10 * TIMEOUT_MS) });
    const first = await start();
    model.answer({ tokens: ["word "], ending: "hang" });
    const cut = postTurn(first.url, ask("held", "cut off"), {
      onEvent: (_event, sofar) => void (sofar.length === 2 && first.kill("SIGKILL")),
    });
    await expect(cut).rejects.toThrow();
    await first.exited;
    const second = await start();
    model.answer({ tokens: ["fine"] });
    const { status, json } = await postJson(`${second.url}/api/v1/chat`, ask("held", "and now?"));
    expect({ status, ...json }).toMatchObject({ status: 200, answer: "fine" });
    expect((await messagesOf(second.url, "ada", "held")).map(({ content }) => content)).toEqual(["cut off", "and now?", "fine"]);
    await killServiceProcesses();
    await model.close();
    await remove();
  });

  test("is busy for another process until the lease is over, and no longer", async () => {
    const { url, drop } = await createRealDatabase();
    const leaseMs = 3_000;
    const survivor = await openServiceWithModel({ DATABASE_URL: url, TURN_LEASE_MS: String(leaseMs) });
    survivor.model.answer(({ messages }) =>
      messages.at(-1)?.content === "cut off" ? { tokens: ["word "], ending: "hang" } : { tokens: ["fine"] },
    );
    const killed = await startServiceProcess({ DATABASE_URL: url, OPENAI_BASE_URL: survivor.model.url, TURN_LEASE_MS: String(leaseMs) });
    await postTurn(killed.url, ask("lease", "cut off"), {
      onEvent: (_event, sofar) => void (sofar.length === 2 && killed.kill("SIGKILL")),
    }).catch(() => undefined);
    await killed.exited;

    const began = performance.now();
    expect((await postJson(`${survivor.url}/api/v1/chat`, ask("lease", "too early"))).status).toBe(409);
    const waited = await postTurn(survivor.url, ask("lease", "and now?", { on_busy: "enqueue" }));
    expect(contentOf(waited.events, "done")).toMatchObject({ answer: "fine", receipt: { window_messages: 1 } });
    expect(performance.now() - began).toBeLessThan(leaseMs + 5_000);
    expect((await messagesOf(survivor.url, "ada", "lease")).map(({ content }) => content)).toEqual(["cut off", "and now?", "fine"]);
    await survivor.close();
    await killServiceProcesses();
    await drop();
  });
});
