import { expect, jest, test } from "@jest/globals";
import { killToolTurns } from "./tool-kills.ts";
import { openDatabases } from "./chaos-databases.ts";
import { useOpened } from "../../support/use-opened.ts";

const ROUNDS = Number(process.env["TOOL_KILLS"] ?? 24);
jest.setTimeout(ROUNDS * 20_000 + 60_000);

const opened = useOpened(() => openDatabases(2));

test.each([
  ["an agent", "clerk"],
  ["a member of a team", "boss"],
] as const)(
  `a tool of %s runs at most once, and no run is lost, when its process is killed in ${ROUNDS} turns, each time at another statement`,
  async (_, agent) => {
    const { figures, wrongs } = await killToolTurns(opened.next(), { rounds: ROUNDS, seed: 1, agent });
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(wrongs).toEqual([]);
    expect(figures.kills).toBeGreaterThan(ROUNDS / 3);
  },
);
