import { expect, test } from "@jest/globals";
import { AMENDMENTS } from "../../models/wire/amendments.ts";
import { enModelTest } from "../../web/texts/en-model-test.ts";
import { zhModelTest } from "../../web/texts/zh-model-test.ts";

test.each([enModelTest, zhModelTest])("the page has words for everything that a server can teach, in language %#", ({ learned }) => {
  expect(Object.keys(learned).toSorted()).toEqual(Object.keys(AMENDMENTS).toSorted());
});
