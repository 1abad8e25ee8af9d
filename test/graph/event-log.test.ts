import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { makeEventLog, type EventLog } from "../../graph/event-log.ts";

async function readAll<Event>(log: EventLog<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const batch of log.readBatches()) {
    expect(batch.length).toBeGreaterThan(0);
    events.push(...batch);
  }
  return events;
}

describe("the event log", () => {
  test("gives each event to a waiting reader at once", async () => {
    const log = makeEventLog<string>();
    const reader = log.readBatches();
    for (const event of ["first", "second"]) {
      const next = reader.next();
      await nextTick();
      log.append(event);
      expect(await next).toEqual({ done: false, value: [event] });
    }
    const last = reader.next();
    log.end();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  test("waits for no reader who is slow or has stopped, and gives what has piled up together", async () => {
    const log = makeEventLog<number>();
    log.append(1);
    const slow = log.readBatches();
    await slow.next();
    const stopped = log.readBatches();
    await stopped.next();
    await stopped.return();
    const quick = readAll(log);
    log.append(2);
    log.append(3);
    log.end();
    expect(await quick).toEqual([1, 2, 3]);
    expect((await slow.next()).value).toEqual([2, 3]);
    expect((await slow.next()).done).toBe(true);
  });

  test("gives batches of at most a hundred events", async () => {
    const log = makeEventLog<number>();
    for (let event = 0; event < 250; event++) log.append(event);
    log.end();
    const sizes: number[] = [];
    for await (const batch of log.readBatches()) sizes.push(batch.length);
    expect(sizes).toEqual([100, 100, 50]);
  });

  test("gives any reader every event once and in order, whenever the reader comes and goes on", async () => {
    const anyStep = fc.oneof({ weight: 3, arbitrary: fc.constant("append") }, fc.constant("read"), fc.constant("pause"));
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
        const log = makeEventLog<number>();
        const readers: Promise<number[]>[] = [];
        let count = 0;
        for (const step of steps) {
          if (step === "append") log.append(count++);
          else if (step === "read") readers.push(readAll(log));
          else await nextTick();
        }
        log.end();
        readers.push(readAll(log));
        const expected = Array.from({ length: count }, (_, index) => index);
        for (const events of await Promise.all(readers)) expect(events).toEqual(expected);
      }),
    );
  });
});
