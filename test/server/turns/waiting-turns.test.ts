import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { makeWaitingTurns } from "../../../agents/questions/waiting-turns.ts";
import type { ResumedTurn } from "../../../turn/resumed-turn.ts";

const DUE = { answered: { by: "time" } } as unknown as ResumedTurn;

test("a stop waits for the look at waiting turns that is under way, whose turns go on; there is no other look", async () => {
  const [looking, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let looks = 0;
  const wentOn: ResumedTurn[] = [];
  const errors: unknown[] = [];
  const waiting = makeWaitingTurns({
    questions: {
      async takeDue() {
        looks++;
        looking.resolve();
        await gate.promise;
        return [DUE];
      },
      untilDue: async () => 0,
    },
    turns: { finish: () => Promise.reject(new Error("no turn ends here")) },
    leaseMs: 1_000,
    async goOn(resumed) {
      wentOn.push(resumed);
      return { ended: Promise.resolve() };
    },
    onError: (error) => errors.push(error),
  });
  waiting.lookIn(0);
  await looking.promise;
  const stopped = waiting.stop();
  expect(await Promise.race([stopped, sleep(100, "not yet")])).toBe("not yet");
  gate.resolve();
  await stopped;
  await sleep(200); // twice the pause between two looks
  expect([wentOn, looks, errors]).toEqual([[DUE], 1, []]);
});
