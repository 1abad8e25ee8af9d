import { expect, test } from "@jest/globals";
import { rebuildSection, type VersionToRebuild } from "../../../../stores/postgres/memory/rebuild-section.ts";
import type { VersionLine } from "../../../../stores/postgres/memory/section-versions.ts";

type Version = Omit<VersionToRebuild, "isErased">;

const TEA = "Likes tea.";
const tea = (source: string, removedBy: string[]): VersionLine => ({
  content: TEA,
  triggerMessageIds: [source],
  repeatedIn: [],
  removedBy,
});
const version = (number: number, messageId: string, lines: VersionLine[]): Version => {
  return { version: number, content: lines.map(({ content }) => content).join("\n") || null, triggerMessageIds: [messageId], lines };
};

/** The versions that are left without a message. */
function without(versions: readonly Version[], messageId: string): { left: Version[]; content: string | null } {
  const isGone = (id: string): boolean => id === messageId;
  const given = versions.map((one) => ({ ...one, isErased: one.triggerMessageIds.some(isGone) }));
  const { kept, now } = rebuildSection(given, isGone);
  const left = kept.map((one) => ({ ...version(one.version, "", []), ...given.find((before) => before.version === one.version), ...one }));
  return { left, content: now.content };
}

test.each<[string, Version[], string | null]>([
  [
    "is back when all that removed it is erased",
    [
      version(1, "kept", [tea("kept", ["first"])]),
      version(2, "first", []),
      version(3, "first", [tea("first", ["second"])]),
      version(4, "second", []),
    ],
    TEA,
  ],
  ["stays away when no message is known to have removed it", [version(1, "kept", [tea("kept", [])]), version(2, "second", [])], null],
])("after two erases, a removed line %s", (_what, versions, content) => {
  const { left, content: afterFirst } = without(versions, "first");
  expect(afterFirst).toBeNull();
  expect(without(left, "second").content).toBe(content);
});
