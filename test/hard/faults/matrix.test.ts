import { readdir } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { DEPENDENCIES, FAULTS, MATRIX, WAYS } from "./fault-matrix.ts";

describe("the matrix of faults", () => {
  test("has a cell for each of six dependencies with each of seven faults", () => {
    expect(DEPENDENCIES).toHaveLength(6);
    expect(FAULTS).toHaveLength(7);
    expect(Object.keys(MATRIX)).toEqual([...DEPENDENCIES]);
    for (const dependency of DEPENDENCIES) expect(Object.keys(MATRIX[dependency])).toEqual([...FAULTS]);
  });

  test("has a way to bring each fault about, and three wrong answers", () => {
    expect(Object.keys(WAYS)).toEqual([...FAULTS]);
    expect(FAULTS.map((fault) => Object.keys(WAYS[fault]).length)).toEqual([1, 1, 1, 1, 1, 3, 1]);
  });

  test("knows no exception for a way that there is not", () => {
    for (const dependency of DEPENDENCIES)
      for (const fault of FAULTS)
        expect(Object.keys(WAYS[fault])).toEqual(expect.arrayContaining(Object.keys(MATRIX[dependency][fault].ways ?? {})));
  });

  test("has a suite for each dependency", async () => {
    const files = await readdir(import.meta.dirname);
    expect(files).toEqual(expect.arrayContaining(DEPENDENCIES.map((dependency) => `${dependency.replaceAll("_", "-")}.test.ts`)));
  });
});
