import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { openServiceWithCoreMemory, type ServiceWithCoreMemory } from "../../../support/services/service-with-core-memory.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const USERS = ["ada", "ben", "cleo", "dan"];
let service: ServiceWithCoreMemory | undefined;
afterEach(() => service?.close());

test("JOB_CONCURRENCY jobs of a process are at work at a time, the others wait for a place", async () => {
  const running = await openServiceWithCoreMemory({ JOB_CONCURRENCY: "2" });
  service = running;
  const over = Promise.withResolvers<void>();
  running.remember(() => ({ tokens: ["nothing to do"], until: over.promise }));
  for (const user of USERS) await running.say(user, "What is tea?");
  await waitUntil("two jobs are at work", () => running.memoryRequests().length === 2);
  await sleep(3_000); // longer than between two looks for jobs
  expect(running.memoryRequests()).toHaveLength(2);
  over.resolve();
  await waitUntil("the others have had their place", () => running.memoryRequests().length === USERS.length);
});
