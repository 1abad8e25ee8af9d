import { expect, jest, test } from "@jest/globals";
import { killAskingTurns } from "./question-kills.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { useOpened } from "../../support/use-opened.ts";

const ROUNDS = Number(process.env["QUESTION_KILLS"] ?? 16);
jest.setTimeout(ROUNDS * 15_000 + 60_000);

const place = useOpened(async () => {
  const { url, drop } = await createRealDatabase();
  return { url, close: () => killServiceProcesses().then(drop) };
});

test(`a question is asked once and answered once, and its turn goes on, when a process is killed in ${ROUNDS} turns, each time at another statement`, async () => {
  const { figures, wrongs } = await killAskingTurns(place.url, ROUNDS);
  process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(wrongs).toEqual([]);
  expect(figures.kills).toBeGreaterThan(ROUNDS / 3);
});
