import { expect, test } from "@jest/globals";
import { makeSeal } from "../../../server/parts/seal.ts";

const KEY = "a key of more than thirty-two characters";

test("a seal opens what it sealed, hides the text, and seals the same text differently each time", () => {
  const seal = makeSeal(KEY);
  const [one, other] = [seal.seal("a secret 秘密", "here"), seal.seal("a secret 秘密", "here")];
  expect(one).not.toBe(other);
  expect(Buffer.from(one, "base64url").toString("latin1")).not.toContain("secret");
  expect(makeSeal(KEY).open(one, "here")).toBe("a secret 秘密");
});

test("a seal opens nothing with another key, at another place, or after a change or cut", () => {
  const sealed = makeSeal(KEY).seal("a secret", "here");
  const changed = Buffer.from(sealed, "base64url");
  changed[20] = (changed[20] ?? 0) ^ 1;
  expect(makeSeal(`${KEY}!`).open(sealed, "here")).toBeNull();
  for (const text of [changed.toString("base64url"), sealed.slice(0, 20), sealed.slice(0, -4), ""])
    expect(makeSeal(KEY).open(text, "here")).toBeNull();
  expect(makeSeal(KEY).open(sealed, "there")).toBeNull();
});
