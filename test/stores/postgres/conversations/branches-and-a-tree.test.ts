import { jest, test } from "@jest/globals";
import fc from "fast-check";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { treeExpectations } from "./expect-tree.ts";
import { makeGrower, step, stepOrErase } from "./grow-tree.ts";

const RUNS = Number(process.env["TREE_RUNS"] ?? 20);
jest.setTimeout(60_000 + RUNS * 5_000);

describeStores("branches and a tree", (stores) => {
  const agree = (steps: typeof step, minLength: number) =>
    fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength, maxLength: 16 }), async (all) => {
        const { tree, owner, doStep, readFacts } = makeGrower(stores);
        for (const one of all) await doStep(one);
        const expectSame = treeExpectations(stores, tree, owner);
        for (const talk of tree.talks) {
          await expectSame.paths(talk);
          await expectSame.summary(talk, talk.cover);
        }
        await expectSame.exchanges();
        await expectSame.facts(await readFacts());
      }),
      { numRuns: RUNS },
    );

  test("agree in paths, versions, windows, cover points, exchanges and facts, whatever is said, taken back, switched to, forked, imported, restored and summarised", () =>
    agree(step, 1));

  test("agree in them when exchanges and conversations are erased, too", () => agree(stepOrErase, 3));
});
