import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { problemOf } from "./fuzz-answer.ts";
import { anyRequest, responsesIn, type Description, type FuzzRequest } from "./fuzz-request.ts";
import { fillIn, makeFuzzSender } from "./fuzz-sender.ts";
import { wordsKept } from "../../support/databases/scan-tables.ts";
import { canaryTurn, complaintsOf, growthOf, measure, useServiceProcess, type CanaryIds } from "./fuzz-world.ts";

const ALL = Number(process.env["FUZZ_REQUESTS"] ?? 3_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_260_101);
const BATCH = 250;
const CONNECTIONS = 12;
const MOST_GROWTH = 250 * 1024 * 1024;
/** Refusals by HTTP itself are not described. */
const OF_HTTP = ["400", "404", "405", "413", "415", "417", "431"];

const userOf = (number: number): string => `fuzzed-${number}-user`;

function shown({ method, target, headers, body }: FuzzRequest): string {
  return JSON.stringify({ method, target, headers, body: body?.toString("latin1") }).slice(0, 900);
}

describe(`a service that gets requests made from its description, with FUZZ_SEED=${SEED},`, () => {
  const service = useServiceProcess({ CORS_ORIGINS: "https://front.example", LOG_LEVEL: "info" });
  const refused = new Set<string>();
  const accepted = new Set<string>();

  test(`answers ${ALL} of them as it should, and stays as it was`, async () => {
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description;
    const requests = anyRequest(description);
    const responses = responsesIn(description);
    const sender = makeFuzzSender(service.url, CONNECTIONS);
    const blamed: string[] = [];
    const memory: number[] = [];
    let number = 0;

    async function ask(made: FuzzRequest, ids: CanaryIds): Promise<void> {
      const user = userOf(number++);
      const request = fillIn(made, { ...ids, "USER-PLACE": user });
      try {
        const answer = await sender.send(request);
        const { status } = answer;
        (status < 400 ? accepted : refused).add(user);
        const isNotModified = status === 304 && request.headers["if-none-match"] !== undefined;
        const isDescribed =
          !made.isTrue || isNotModified || [...(responses.get(made.operation) ?? []), ...OF_HTTP].includes(String(status));
        const problem = problemOf(request.target, request.method === "HEAD", answer) ?? (isDescribed ? undefined : "is not described");
        if (problem !== undefined) blamed.push(`${status} ${problem} ${answer.text.slice(0, 300)}: ${shown(request)}`);
      } catch (error) {
        accepted.add(user); // nobody knows
        blamed.push(`no answer, ${String(error)}: ${shown(request)}`);
      }
    }

    for (let begun = 0; begun < ALL; begun += BATCH) {
      const waiting = fc.sample(requests, { numRuns: Math.min(BATCH, ALL - begun), seed: SEED + begun });
      const ids = await canaryTurn(service.url, `canary ${begun}`);
      const work = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await ask(next, ids);
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, work));
      memory.push((await measure(service.url)).bytes);
      expect(blamed.slice(0, 20)).toEqual([]);
    }
    sender.close();
    await canaryTurn(service.url, "the last canary");
    expect(complaintsOf(service)).toEqual([]);
    expect(growthOf(memory)).toBeLessThan(MOST_GROWTH);
  }, 1_800_000);

  test("keeps nothing of users whose requests were all refused", async () => {
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    const database = await openEmbeddedPostgres(service.folder);
    const kept = await wordsKept(database, "fuzzed-[0-9]+-user").finally(() => database.close());
    expect(kept.filter((user) => refused.has(user))).toEqual([]);
    expect(kept.filter((user) => accepted.has(user)).length).toBeGreaterThan(ALL / 400); // they would be found
    expect(refused.size).toBeGreaterThan(ALL / 4);
  });
});
