import { expect, jest, test } from "@jest/globals";
import { LEASE_MS } from "./chaos-model.ts";
import { runChaos } from "./chaos-run.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { useOpened } from "../../support/use-opened.ts";

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 20);
const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);
jest.setTimeout(SECONDS * 1_000 + 400_000);

const place = useOpened(async () => {
  const { url, drop } = await createRealDatabase();
  return { url, close: () => killServiceProcesses().then(drop) };
});

test(`every acknowledged turn is stored once, every stream ends or is resumed, and no lock outlives its lease, while 20 users talk for ${SECONDS} s, two processes are killed at random and replies of Postgres are lost (CHAOS_SEED=${seed})`, async () => {
  const { figures, wrongs } = await runChaos(place.url, SECONDS, seed);
  process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(wrongs).toEqual([]);
  expect(figures.leases.longestUnrenewedMs).toBeLessThanOrEqual(LEASE_MS);
  expect(figures.kills.SIGKILL).toBeGreaterThan(0);
  expect(figures.kills.lostReplies).toBeGreaterThan(0);
  expect(figures.resumes).toBeGreaterThan(0);
  expect(figures.summaryVersions).toBeGreaterThan(SECONDS / 3);
  expect(figures.done).toBeGreaterThan(SECONDS);
});
