import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { openMeasures } from "../../../server/parts/open-model-facts.ts";
import type { Statement } from "../../../stores/postgres/database/database.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";

const postgres = useTestPostgres();

test("what a model's server has shown is stored when its measures are closed", async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const query = async <Row>(statement: Statement): Promise<Row[]> => {
    if (statement.text.includes("insert")) await sleep(300);
    return postgres.query<Row>(statement);
  };
  const measures = await openMeasures({ ...postgres, query }, onError);
  measures.learned.learn("small", 4_096, { isTold: true });
  await measures.close();
  expect((await openMeasures(postgres, onError)).learned.of("small")).toBe(4_096);
  expect(errors).toEqual([]);
});
