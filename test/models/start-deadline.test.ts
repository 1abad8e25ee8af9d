import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { startDeadline } from "../../models/deadlines.ts";

describe("a deadline", () => {
  test("aborts when its time is over, as AbortSignal.timeout does", async () => {
    const [ours, nodes] = [startDeadline(5), AbortSignal.timeout(5)];
    expect(ours.isOver()).toBe(false);
    await sleep(30);
    expect(ours.isOver()).toBe(true);
    const [one, other] = [ours.signal.reason as DOMException, nodes.reason as DOMException];
    expect([one.name, one.message, one.code]).toEqual([other.name, other.message, other.code]);
  });

  test("does nothing when it was disposed of before", async () => {
    const deadline = startDeadline(5);
    deadline[Symbol.dispose]();
    await sleep(30);
    expect([deadline.signal.aborted, deadline.isOver()]).toEqual([false, false]);
  });

  test("also aborts when somebody cancels, which is not its time", () => {
    const cancelling = new AbortController();
    using deadline = startDeadline(60_000, cancelling.signal);
    cancelling.abort(new Error("stopped"));
    expect(deadline.signal.reason).toEqual(new Error("stopped"));
    expect(deadline.isOver()).toBe(false);
  });
});
