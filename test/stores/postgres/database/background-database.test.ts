import { setImmediate as nextRound } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { backgroundDatabase } from "../../../../stores/postgres/database/database-decorators.ts";
import { useTestEmbedded } from "../../../support/databases/databases.ts";

const STEPS = 20;

describe("the database of background work", () => {
  const embedded = useTestEmbedded();

  test("lets the event loop go round before each", async () => {
    const database = backgroundDatabase(embedded, () => false);
    let rounds = 0;
    let isOver = false;
    function count(): void {
      rounds++;
      if (!isOver) setImmediate(count);
    }
    setImmediate(count);
    const work = async (): Promise<void> => {
      for (let step = 0; step < STEPS; step++) await database.query({ name: "one", text: "select 1" });
    };
    await Promise.all([work(), work()]);
    isOver = true;
    expect(rounds).toBeGreaterThanOrEqual(2 * STEPS - 1);
  });

  test("asks for the next when the one before has its answer, whole transactions too", async () => {
    const log: string[] = [];
    const logged = async <Result>(what: string, run: () => Promise<Result>): Promise<Result> => {
      log.push(`${what} begins`);
      return run().finally(() => log.push(`${what} ends`));
    };
    const database = backgroundDatabase(
      {
        ...embedded,
        query: (statement) => logged(statement.text, () => embedded.query(statement)),
        transaction: (work) => logged("transaction", () => embedded.transaction(work)),
      },
      () => false,
    );
    await Promise.all([
      database.query({ text: "select 1" }),
      database.transaction(async (transaction) => {
        await nextRound();
        await transaction.query({ text: "select 2" });
      }),
      database.query({ text: "select 3" }),
    ]);
    expect(log).toEqual(["select 1", "transaction", "select 3"].flatMap((what) => [`${what} begins`, `${what} ends`]));
  });

  test("does not wait for the one before while background work is late", async () => {
    const STATEMENTS = 3;
    let begun = 0;
    const { promise: allBegun, resolve } = Promise.withResolvers<void>();
    const database = backgroundDatabase(
      {
        ...embedded,
        query: async (statement) => {
          if (++begun === STATEMENTS) resolve();
          await allBegun;
          return embedded.query(statement);
        },
      },
      () => true,
    );
    const answers = Array.from({ length: STATEMENTS }, () => database.query({ text: "select 1 as one" }));
    expect(await Promise.all(answers)).toEqual(answers.map(() => [{ one: 1 }]));
  });

  test("goes on after a failed one, which fails as without it", async () => {
    const database = backgroundDatabase(embedded, () => false);
    const failed = database.query({ text: "select nonsense" });
    const next = database.query<{ one: number }>({ text: "select 1 as one" });
    await expect(failed).rejects.toThrow("nonsense");
    expect(await next).toEqual([{ one: 1 }]);
  });
});
