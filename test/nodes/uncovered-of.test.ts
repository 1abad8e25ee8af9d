import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { uncoveredMessages } from "../../turn/state.ts";
import { idOf, sampleWindow, summaryThrough, timeAt, windowMessage } from "../support/samples/sample-window.ts";

describe("uncoveredOf", () => {
  test("is every message without a summary", () => {
    expect(uncoveredMessages(sampleWindow(4), null)).toEqual(sampleWindow(4));
  });

  test.each([
    [0, 4],
    [1, 3],
    [3, 1],
    [4, 0],
    [9, 0],
  ])("with a cover point at message %i of 4 is the last %i", (through, left) => {
    const window = sampleWindow(4);
    expect(uncoveredMessages(window, summaryThrough(through))).toEqual(window.slice(window.length - left));
  });

  test("of messages of one moment is those whose id is behind that of the cover point", () => {
    const at = (id: number) => windowMessage("user", `message ${id}`, { id: idOf(id), createdAt: timeAt(5) });
    const window = [at(4), at(5), at(6)];
    expect(uncoveredMessages(window, summaryThrough(5)).map(({ id }) => id)).toEqual([idOf(6)]);
  });

  test("goes by the time first: an earlier message with a later id is covered, a later one with an earlier id is not", () => {
    const earlier = windowMessage("user", "earlier", { id: idOf(9), createdAt: timeAt(4) });
    const later = windowMessage("user", "later", { id: idOf(1), createdAt: timeAt(6) });
    expect(uncoveredMessages([earlier, later], summaryThrough(5))).toEqual([later]);
  });

  test("property: is the end of the window, and nothing of it is at or before the cover point", () => {
    const anyPlaces = fc.uniqueArray(fc.tuple(fc.nat(5), fc.nat(5)), { selector: ([time, id]) => time * 10 + id });
    fc.assert(
      fc.property(anyPlaces, fc.nat(5), (places, through) => {
        const window = places
          .toSorted(([time, id], [otherTime, otherId]) => time - otherTime || id - otherId)
          .map(([time, id]) => windowMessage("user", `${time}/${id}`, { id: idOf(id), createdAt: timeAt(time) }));
        const covered = places.filter(([time, id]) => time < through || (time === through && id <= through)).length;
        expect(uncoveredMessages(window, summaryThrough(through))).toEqual(window.slice(covered));
      }),
    );
  });
});
