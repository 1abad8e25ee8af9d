import { expect, jest, test } from "@jest/globals";
import { killAskingTurns } from "./question-kills.ts";
import { openDatabases } from "./chaos-databases.ts";
import { useOpened } from "../../support/use-opened.ts";

const ROUNDS = Number(process.env["QUESTION_KILLS"] ?? 16);
jest.setTimeout(ROUNDS * 20_000 + 60_000);

const opened = useOpened(() => openDatabases(2));

test.each([
  ["an agent", "asks"],
  ["a member of a team", "chief"],
] as const)(
  `a question of %s is asked once and answered once, and its turn goes on, when a process is killed in ${ROUNDS} turns, each time at another statement`,
  async (_, agent) => {
    const { figures, wrongs } = await killAskingTurns(opened.next(), { rounds: ROUNDS, agent });
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(wrongs).toEqual([]);
    expect(figures.kills).toBeGreaterThan(ROUNDS / 3);
  },
);
