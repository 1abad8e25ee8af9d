import { expect, jest, test } from "@jest/globals";
import { killAskingTurns } from "./question-kills.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { useOpened } from "../../support/use-opened.ts";

const ROUNDS = Number(process.env["QUESTION_KILLS"] ?? 16);
jest.setTimeout(ROUNDS * 20_000 + 60_000);

const opened = useOpened(async () => {
  const databases = [await createRealDatabase(), await createRealDatabase()];
  const close = async (): Promise<void> => {
    await killServiceProcesses();
    for (const { drop } of databases) await drop();
  };
  return { urls: databases.map(({ url }) => url), close };
});

test.each([
  ["an agent", "asks"],
  ["a member of a team", "chief"],
] as const)(
  `a question of %s is asked once and answered once, and its turn goes on, when a process is killed in ${ROUNDS} turns, each time at another statement`,
  async (_, agent) => {
    const { figures, wrongs } = await killAskingTurns(opened.urls.pop() ?? "", { rounds: ROUNDS, agent });
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(wrongs).toEqual([]);
    expect(figures.kills).toBeGreaterThan(ROUNDS / 3);
  },
);
