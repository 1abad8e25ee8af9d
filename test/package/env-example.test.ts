import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { CONFIG_VARIABLES, parseConfig } from "../../server/settings/config.ts";

type Entry = { name: string; value: string; commentedOut: boolean };

function entriesOf(file: string): Entry[] {
  const assignments = readFileSync(file, "utf8").matchAll(/^(# ?)?([A-Z][A-Z0-9_]*)=(.*)$/gm);
  return [...assignments].map(([, comment, name = "", value = ""]) => ({ name, value, commentedOut: comment !== undefined }));
}

const entries = entriesOf(".env.example");

test(".env.example explains exactly the variables that the configuration reads, in the same order", () => {
  expect(entries.map(({ name }) => name)).toEqual(CONFIG_VARIABLES);
});

test(".env.example comments out just the defaults, and leaves empty what has no default", () => {
  const defaults = parseConfig({});
  const commentedOut = entries.filter((entry) => entry.commentedOut).map(({ name, value }) => [name, value] as const);
  expect(commentedOut.map(([name]) => name)).toEqual(CONFIG_VARIABLES.filter((name) => name in defaults));
  expect(parseConfig(Object.fromEntries(commentedOut))).toEqual(defaults);
  expect(entries.filter(({ value, commentedOut }) => !commentedOut && value !== "")).toEqual([]);
});
