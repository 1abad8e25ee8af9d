import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeCircuitBreaker, type CircuitBreaker } from "../../../memory/recall/circuit-breaker.ts";
import { NOOP_OBSERVER } from "../../../observe/observer.ts";

const PAUSE_MS = 5_000;
const away = async (): Promise<never> => Promise.reject(new Error("away"));
const never = (): Promise<never> => new Promise(() => undefined);

describe("a circuit", () => {
  let circuit: CircuitBreaker;
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
    jest.spyOn(Date, "now").mockImplementation(() => now);
    circuit = makeCircuitBreaker();
  });
  afterEach(() => void jest.restoreAllMocks());

  /** Calls, and says whether the dependency was asked, and how it ended. */
  async function call(answer: () => Promise<unknown>, signal?: AbortSignal): Promise<{ asked: boolean; ended: unknown }> {
    let asked = false;
    const called = async (): Promise<unknown> => {
      asked = true;
      return answer();
    };
    const ended = await circuit(called, signal).catch((error: Error) => error.name + ": " + error.message);
    return { asked, ended };
  }

  async function failTimes(count: number): Promise<void> {
    for (let time = 0; time < count; time++) expect((await call(away)).asked).toBe(true);
  }

  test("gives what the dependency gives, and its error as it is", async () => {
    expect(await circuit(async () => 42, undefined)).toBe(42);
    const error = new AppError("index_unavailable", "The index cannot be reached.");
    await expect(circuit(async () => Promise.reject(error), undefined)).rejects.toBe(error);
  });

  test("after three failures in a row fails at once, without asking", async () => {
    await failTimes(3);
    expect((await call(async () => "answer")).asked).toBe(false);
  });

  test("tells an observer each state that it takes on", async () => {
    const told: unknown[] = [];
    circuit = makeCircuitBreaker("index", { ...NOOP_OBSERVER, tell: (happening) => told.push(happening) });
    await failTimes(3);
    now += PAUSE_MS;
    await call(async () => "answer");
    const states = ["closed", "open", "half_open", "closed"];
    expect(told).toEqual(states.map((state) => ({ happened: "circuit", circuit: "index", state })));
  });

  test("does not add failures up that are not in a row", async () => {
    await failTimes(2);
    expect((await call(async () => "answer")).ended).toBe("answer");
    await failTimes(2);
    expect(await call(async () => "answer")).toEqual({ asked: true, ended: "answer" });
  });

  test("tries again after the pause, and is whole again when that works", async () => {
    await failTimes(3);
    now += PAUSE_MS - 1;
    expect((await call(async () => "answer")).asked).toBe(false);
    now += 1;
    expect(await call(async () => "answer")).toEqual({ asked: true, ended: "answer" });
    await failTimes(2);
    expect((await call(async () => "answer")).ended).toBe("answer");
  });

  test("waits for another pause when the try fails as well", async () => {
    await failTimes(3);
    now += PAUSE_MS;
    await failTimes(1);
    expect((await call(async () => "answer")).asked).toBe(false);
    now += PAUSE_MS;
    expect((await call(async () => "answer")).asked).toBe(true);
  });

  test("ends a call that hears no signal when the signal's time is over, and counts that", async () => {
    for (let time = 0; time < 3; time++) expect((await call(never, AbortSignal.timeout(10))).ended).toMatch(/^TimeoutError/);
    expect((await call(async () => "answer")).asked).toBe(false);
  });

  test.each<[string, Error]>([
    ["an abort", Object.assign(new Error("This operation was aborted"), { name: "AbortError" })],
    ["a cancelled turn", new AppError("turn_cancelled", "The turn was cancelled.")],
  ])("does not count %s: it says nothing about the dependency", async (_name, reason) => {
    for (let time = 0; time < 5; time++) {
      const cancelling = new AbortController();
      const called = call(never, cancelling.signal);
      cancelling.abort(reason);
      expect((await called).ended).toContain(reason.message);
    }
    expect(await call(async () => "answer")).toEqual({ asked: true, ended: "answer" });
  });

  test("does not ask for a caller that has left already", async () => {
    expect((await call(async () => "answer", AbortSignal.abort())).asked).toBe(false);
  });

  test("does not keep a caller beyond its own time while another's call tries whether the dependency is back", async () => {
    await failTimes(3);
    now += PAUSE_MS;
    const trying = Promise.withResolvers<string>();
    const first = call(() => trying.promise);
    const second = call(async () => "answer", AbortSignal.timeout(20));
    const late = new Promise((resolve) => setTimeout(() => resolve("it waits for the other"), 5_000).unref());
    expect(await Promise.race([second.then(({ ended }) => ended), late])).toMatch(/^TimeoutError/);
    trying.resolve("back");
    expect((await first).ended).toBe("back");
  });
});
