import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeCircuitBreaker, type CircuitBreaker } from "../../../memory/recall/circuit-breaker.ts";
import { NOOP_OBSERVER } from "../../../observe/observer.ts";

const PAUSE_MS = 5_000;
const succeed = async (): Promise<string> => "answer";
const fail = async (): Promise<never> => Promise.reject(new Error("away"));
const never = (): Promise<never> => new Promise(() => undefined);

describe("a circuit", () => {
  let circuit: CircuitBreaker;
  let now: number;
  const told: unknown[] = [];
  beforeEach(() => {
    now = 1_000_000;
    jest.spyOn(Date, "now").mockImplementation(() => now);
    told.splice(0);
    circuit = makeCircuitBreaker("index", { ...NOOP_OBSERVER, tell: (happening) => told.push(happening) });
  });
  afterEach(() => void jest.restoreAllMocks());

  /** Calls, and says how that ended, or that the dependency was not asked. */
  async function call(answer: () => Promise<unknown>, signal?: AbortSignal): Promise<unknown> {
    let asked = false;
    const called = async (): Promise<unknown> => {
      asked = true;
      return answer();
    };
    const ended = await circuit(called, signal).catch((error: Error) => `${error.name}: ${error.message}`);
    return asked ? ended : "not asked";
  }

  async function failTimes(count: number): Promise<void> {
    for (let time = 0; time < count; time++) expect(await call(fail)).toBe("Error: away");
  }

  test("gives what the dependency gives, and its error as it is", async () => {
    expect(await circuit(async () => 42, undefined)).toBe(42);
    const error = new AppError("index_unavailable", "The index cannot be reached.");
    await expect(circuit(async () => Promise.reject(error), undefined)).rejects.toBe(error);
  });

  test("does not ask after three failures in a row, asks again after the pause, and tells an observer each state", async () => {
    await failTimes(3);
    now += PAUSE_MS - 1;
    expect(await call(succeed)).toBe("not asked");
    now += 1;
    expect(await call(succeed)).toBe("answer");
    const states = ["closed", "open", "half_open", "closed"];
    expect(told).toEqual(states.map((state) => ({ happened: "circuit", circuit: "index", state })));
    await failTimes(2);
    expect(await call(succeed)).toBe("answer");
    await failTimes(2);
    expect(await call(succeed)).toBe("answer");
  });

  test("waits for another pause when the try fails as well", async () => {
    await failTimes(3);
    now += PAUSE_MS;
    await failTimes(1);
    expect(await call(succeed)).toBe("not asked");
    now += PAUSE_MS;
    expect(await call(succeed)).toBe("answer");
  });

  test("ends a call that hears no signal when the signal's time is over, and counts that", async () => {
    for (let time = 0; time < 3; time++) expect(await call(never, AbortSignal.timeout(10))).toMatch(/^TimeoutError/);
    expect(await call(succeed)).toBe("not asked");
  });

  test.each<[string, Error]>([
    ["an abort", Object.assign(new Error("This operation was aborted"), { name: "AbortError" })],
    ["a cancelled turn", new AppError("turn_cancelled", "The turn was cancelled.")],
  ])("does not count %s: it says nothing about the dependency", async (_name, reason) => {
    for (let time = 0; time < 5; time++) {
      const cancelling = new AbortController();
      const called = call(never, cancelling.signal);
      cancelling.abort(reason);
      expect(await called).toContain(reason.message);
    }
    expect(await call(succeed)).toBe("answer");
  });

  test("does not ask for a caller that has left already", async () => expect(await call(succeed, AbortSignal.abort())).toBe("not asked"));

  test("does not keep a caller beyond its own time while another's call tries whether the dependency is back", async () => {
    await failTimes(3);
    now += PAUSE_MS;
    const trying = Promise.withResolvers<string>();
    const first = call(() => trying.promise);
    await expect(circuit(succeed, AbortSignal.timeout(20))).rejects.toThrow(expect.objectContaining({ name: "TimeoutError" }));
    trying.resolve("back");
    expect(await first).toBe("back");
  });
});
