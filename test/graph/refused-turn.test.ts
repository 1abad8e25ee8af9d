import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startTurn, type RunningTurn } from "../../graph/start-turn.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { TWO_BASES } from "../nodes/routing/route-test-parts.ts";
import { openGraphWithModel, type GraphWithModel } from "../support/services/graph-with-model.ts";
import type { SeenRequest } from "../servers/model-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const ROUTER = "test-router";
const UNCLEAR = "May I sit in the front part of the plane to Tokyo?";

/** A turn on a conversation that is answering, and what has come of it. */
interface Refused {
  turn: RunningTurn;
  /** Settles when its route node has ended. */
  routed: Promise<void>;
  /** Codes of the failures that were heard of. */
  heard: string[];
}

describe("a turn that is refused while it is being routed", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel();
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer({ tokens: [], ending: "hang" });
    opened.server.seen.splice(0);
  });

  const askedOfRouter = (): SeenRequest | undefined => opened.server.seen.find(({ body }) => body.model === ROUTER);

  /** The route node gets the knowledge bases, and history looks whether the conversation is free, when `until` says so. */
  async function startOnBusy(until: { listed: () => Promise<unknown>; begun: () => Promise<unknown> }): Promise<Refused> {
    const talk = opened.makeTalk();
    const running = talk.start("Hello!");
    await running.accepted;
    const routed = Promise.withResolvers<void>();
    const observer: Observer = {
      ...NOOP_OBSERVER,
      async watch(work, run) {
        try {
          return await run(() => undefined);
        } finally {
          if (work.work === "node" && work.name === "route") routed.resolve();
        }
      },
    };
    const database: Database = {
      ...opened.database,
      async query(statement) {
        if (statement.name === "turn-begin") await until.begun();
        return opened.database.query(statement);
      },
    };
    const graph = opened.makeGraph({
      database,
      observer,
      knowledge: { list: () => until.listed().then(() => TWO_BASES) },
      routing: { routerModel: createOpenAIChatModel({ model: ROUTER, baseUrl: opened.server.url }), timeoutMs: 60_000 },
    });
    const heard: string[] = [];
    const turn = startTurn(graph, { ...talk.input, message: UNCLEAR, debug: true }, { onError: ({ code }) => heard.push(code) });
    void turn.ended.then(() => running.cancel());
    return { turn, routed: routed.promise, heard };
  }

  async function expectRefusalAlone({ turn, routed, heard }: Refused): Promise<void> {
    await routed;
    await new Promise(setImmediate); // what the node tells when it has ended
    const told: TurnEvent[] = [];
    for await (const event of turn.events()) told.push(event);
    expect(told.filter(({ status }) => status !== "execution_log")).toEqual([told.at(-1)]);
    expect(told.at(-1)).toMatchObject({ status: "error", content: { code: "conversation_busy" } });
    expect(heard).toEqual(["conversation_busy"]);
  }

  test("leaves the router model that is being asked, and says nothing behind its error", async () => {
    const begun = () => waitUntil("the router model is asked", askedOfRouter);
    const refused = await startOnBusy({ listed: async () => undefined, begun });
    await refused.turn.ended;
    await waitUntil("the router model's connection to close", () => askedOfRouter()?.aborted);
    await expectRefusalAlone(refused);
  });

  test("asks no model any more, and says nothing behind its error", async () => {
    const over = Promise.withResolvers<void>();
    const refused = await startOnBusy({ listed: () => over.promise, begun: async () => undefined });
    await refused.turn.ended;
    over.resolve();
    await expectRefusalAlone(refused);
    expect(askedOfRouter()).toBeUndefined();
  });
});
