import type { Owner } from "../../../stores/owner.ts";

/** Owners that become one when their parts are joined, trimmed, folded or taken for patterns. */
export const LOOK_ALIKES: Owner[] = (
  [
    ["a", "b"],
    ["b", "a"],
    ["a", "b "],
    ["a", "B"],
    ["a/b", ""],
    ["", "a/b"],
    ['a","b', "b"],
    ["a", 'b"'],
    ["a", "%"],
    ["a", "_"],
    ["a", "b'--"],
  ] as const
).map(([tenantId, userId]) => ({ tenantId, userId }));
