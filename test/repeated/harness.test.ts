import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { chatOpenAI, oneNode, rawFetch, thisService, type Contender } from "../../benchmarks/support/turn/contenders.ts";
import { startModelServer, type ModelServer } from "../servers/model-server.ts";

let model: ModelServer;
const contenders: Contender[] = [];
beforeAll(async () => {
  model = await startModelServer();
  const service = await thisService("this service", model.url, { DATA_DIR: "memory://", ENABLE_EPISODIC_MEMORY: "false" });
  contenders.push(service, rawFetch(model.url), chatOpenAI(model.url), oneNode(model.url));
});
afterAll(async () => {
  for (const contender of contenders) await contender.close();
  await model.close();
});

test("each contender of the bench turn gets twenty whole answers in a row, and the jobs of its turns are done", async () => {
  for (const contender of contenders) {
    for (let turn = 1; turn <= 20; turn++) expect((await contender.turn("s", `Turn ${turn}`)).firstTokenMs).toBeGreaterThan(0);
    await contender.settle?.();
  }
  expect(model.seen.length).toBeGreaterThanOrEqual(20 * contenders.length);
});
