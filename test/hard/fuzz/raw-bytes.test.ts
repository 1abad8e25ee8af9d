import { beforeAll, describe, expect, test } from "@jest/globals";
import { problemOf } from "./fuzz-answer.ts";
import { attack, makeAttack, type RawAttack, type RawOutcome, sendWithoutEnd, targetOf } from "./fuzz-raw.ts";
import { canaryTurn, complaintsOf, measure, useServiceProcess } from "./fuzz-world.ts";
import { listConversations } from "../../support/clients/api-client.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";

const ATTACKS = Number(process.env["FUZZ_ATTACKS"] ?? 1_500);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_260_101);
const AT_ONCE = 64;
const SILENCE_MS = 400;
const MOST_GROWTH = 150 * 1024 * 1024;

describe(`a service that gets raw bytes on its socket, with seed ${SEED},`, () => {
  const service = useServiceProcess();
  const half: RawAttack = { name: "", pieces: [Buffer.from("POST /api/v1/chat HTTP/1.1\r\nhost: localhost\r\nx-")], end: "wait" };
  let halfHeads: Promise<RawOutcome[]>; // while the other tests run: they are dropped after half a minute
  beforeAll(() => {
    halfHeads = Promise.all(Array.from({ length: 200 }, () => attack(service.url, half, 60_000)));
  });

  test(`answers ${ATTACKS} connections that break HTTP with 4xx, or closes them`, async () => {
    const random = makeSeededRandom(SEED);
    const problems: string[] = [];
    const memory: number[] = [];
    await canaryTurn(service.url, "canary");
    for (let sent = 0; sent < ATTACKS; sent += 500) {
      const waiting = Array.from({ length: 500 }, () => makeAttack(random));
      const work = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) {
          const { answers } = await attack(service.url, next, SILENCE_MS);
          const sent = Buffer.concat(next.pieces).toString("latin1").slice(0, 300);
          for (const answer of answers) {
            const problem = problemOf(targetOf(next), answer.text === "", answer);
            if (problem !== undefined)
              problems.push(JSON.stringify([next.name, next.end, answer.status, problem, answer.text.slice(0, 200), sent]));
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      memory.push((await measure(service.url)).bytes);
      await canaryTurn(service.url, `canary ${sent}`);
    }
    expect(problems.slice(0, 20)).toEqual([]);
    expect(await listConversations(service.url, "raw-user")).toEqual([]);
    expect(complaintsOf(service)).toEqual([]);
    expect((memory.at(-1) ?? 0) - (memory[1] ?? 0)).toBeLessThan(MOST_GROWTH);
  }, 600_000);

  test("refuses bodies without an end with 413, and closes their connections", async () => {
    const places = [
      ["POST /api/v1/chat", "application/json"],
      ["POST /v1/chat/completions", "application/json"],
      ["PUT /api/v1/knowledge/travel", "application/json"],
      ["POST /api/v1/knowledge/travel/documents", "application/pdf"],
      ["POST /api/v1/conversations/import", "application/json"],
    ] as const;
    const outcomes = await Promise.all(places.map(([line, type]) => sendWithoutEnd(service.url, line, type)));
    for (const [index, { answers, closed }] of outcomes.entries()) {
      const [line] = places[index] ?? [""];
      const [answer = { status: 0, headers: {}, text: "" }] = answers;
      expect({ line, closed, status: answer.status }).toEqual({ line, closed: true, status: 413 });
      expect(problemOf(line.split(" ")[1] ?? "", false, answer)).toBeUndefined();
    }
    await canaryTurn(service.url, "canary after bodies without an end");
    expect(complaintsOf(service)).toEqual([]);
  });

  test("drops heads of requests that stop halfway, however many there are", async () => {
    const outcomes = await halfHeads;
    expect(outcomes.filter(({ closed }) => !closed)).toEqual([]);
    expect(new Set(outcomes.flatMap(({ answers }) => answers.map(({ status }) => status)))).toEqual(new Set([408]));
    await canaryTurn(service.url, "canary after half heads");
    expect(complaintsOf(service)).toEqual([]);
  });
});
