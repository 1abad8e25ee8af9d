import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { within } from "../../support/wait-until.ts";

const KILLS = 3;
/** Longer than any of these tests. */
const LONG_LEASE_MS = 2_400_000;

type Place = { environment: Record<string, string>; remove: () => Promise<void> };

const onDataFolder = async (): Promise<Place> => {
  const { folder, remove } = await createDataFolder();
  return { environment: { DATA_DIR: folder }, remove };
};
const onRealPostgres = async (): Promise<Place> => {
  const { url, drop } = await createRealDatabase();
  return { environment: { DATABASE_URL: url }, remove: drop };
};

const ask = (session_id: string, message: string, fields: object = {}): object => ({ user_id: "ada", session_id, message, ...fields });

describe("a service that is killed with kill -9", () => {
  let model: ModelServer;
  let place: Place;
  beforeEach(async () => {
    model = await startModelServer();
  });
  afterEach(async () => {
    await killServiceProcesses();
    await model.close();
    await place.remove();
  });

  const start = (leaseMs: number): Promise<ServiceProcess> =>
    startServiceProcess({ ...place.environment, OPENAI_BASE_URL: model.url, TURN_LEASE_MS: String(leaseMs) });
  const contents = async (url: string, session: string) => (await messagesOf(url, "ada", session)).map(({ content }) => content);

  async function killInTurn(service: ServiceProcess): Promise<void> {
    model.answer(({ messages }) => (messages.at(-1)?.content === "cut off" ? { tokens: ["word "], ending: "hang" } : { tokens: ["fine"] }));
    const onEvent = (_event: unknown, sofar: unknown[]) => void (sofar.length === 2 && service.kill("SIGKILL"));
    await expect(postTurn(service.url, ask("held", "cut off"), { onEvent })).rejects.toThrow();
    await service.exited;
  }

  test.each([
    ["an embedded database", onDataFolder],
    ["a real Postgres", onRealPostgres],
  ])("keeps every acknowledged turn once, and goes on with each conversation, after repeated kills on %s", async (_name, makePlace) => {
    place = await makePlace();
    model.answer(({ messages }) => {
      const asked = messages.at(-1)?.content ?? "";
      return asked.startsWith("long")
        ? { tokens: Array.from({ length: 500 }, (_, index) => `word${index} `), betweenMs: 20 }
        : { tokens: ["answer ", `to ${asked}`] };
    });
    for (let kill = 0; kill < KILLS; kill++) {
      const service = await within("start", start(1_000), () => "");
      const tell = (): string => `the service printed: ${service.output()}`;
      const streaming = Promise.withResolvers<void>();
      const cut = postTurn(service.url, ask("cut", `long ${kill}`, { on_busy: "enqueue" }), {
        onEvent: (_event, sofar) => void (sofar.length > 2 + kill && streaming.resolve()),
      });
      const cutOff = expect(cut).rejects.toThrow();
      await within("the first tokens", streaming.promise, tell);
      // The kill comes with `done`: what was acknowledged must be on disk by then.
      const acknowledged = postTurn(service.url, ask("acknowledged", `turn ${kill}`), {
        onEvent: ({ data }) => void (data.status === "done" && service.kill("SIGKILL")),
      }).catch(() => undefined);
      expect((await within("done", acknowledged, tell))?.json).toBeUndefined();
      expect(await within("the end of the process", service.exited, tell)).toBeNull();
      await within("the end of the cut stream", cutOff, tell);
    }

    const service = await start(1_000);
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
      expect((await contents(service.url, session)).at(-1)).toBe("answer to and now?");
    }
  });

  test("leaves its conversation free for the next process at once when the database is embedded", async () => {
    place = await onDataFolder();
    await killInTurn(await start(LONG_LEASE_MS));
    const { url } = await start(LONG_LEASE_MS);
    const { status, json } = await postJson(`${url}/api/v1/chat`, ask("held", "and now?"));
    expect({ status, ...json }).toMatchObject({ status: 200, answer: "fine" });
    expect(await contents(url, "held")).toEqual(["cut off", "and now?", "fine"]);
  });

  test("leaves its conversation busy for another process until the lease is over, and no longer", async () => {
    place = await onRealPostgres();
    const leaseMs = 10_000;
    const [survivor, killed] = await Promise.all([start(leaseMs), start(leaseMs)]);
    await killInTurn(killed);
    expect((await postJson(`${survivor.url}/api/v1/chat`, ask("held", "too early"))).status).toBe(409);
    const waited = await postTurn(survivor.url, ask("held", "and now?", { on_busy: "enqueue" }));
    expect(contentOf(waited.events, "done")).toMatchObject({ answer: "fine", receipt: { window_messages: 1 } });
    expect(await contents(survivor.url, "held")).toEqual(["cut off", "and now?", "fine"]);
  });
});
