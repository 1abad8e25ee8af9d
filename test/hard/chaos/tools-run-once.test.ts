import { expect, jest, test } from "@jest/globals";
import { killToolTurns } from "./tool-kills.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { useOpened } from "../../support/use-opened.ts";

const ROUNDS = Number(process.env["TOOL_KILLS"] ?? 24);
jest.setTimeout(ROUNDS * 15_000 + 60_000);

const place = useOpened(async () => {
  const { url, drop } = await createRealDatabase();
  return { url, close: () => killServiceProcesses().then(drop) };
});

test(`a tool runs at most once, and no run is lost, when its process is killed in ${ROUNDS} turns, each time at another statement`, async () => {
  const { figures, wrongs } = await killToolTurns(place.url, ROUNDS, 1);
  process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(wrongs).toEqual([]);
  expect(figures.kills).toBeGreaterThan(ROUNDS / 3);
});
