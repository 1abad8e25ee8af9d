import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { WireEvent } from "../../../models/wire/read-answer.ts";
import { framesOf, THOUGHT_WORDS } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";
import { cutAt, oddFrame, pause, place, places, spoken, spokenIn } from "./fuzz-arbitraries.ts";
import { eventsOf, type Heard, readEvents } from "./heard.ts";

/** What may be thrown at a caller. */
const FAILURES = [null, "ServerFailure", "SyntaxError"];

type Change = { what: "drop" | "again" | "later" | "truncate"; at: number; to: number } | { what: "other"; at: number; data: string };
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ what: fc.constantFrom("drop", "again", "later", "truncate"), at: place, to: place }),
  fc.record({
    what: fc.constant("other"),
    at: place,
    data: fc.oneof(pause, fc.constantFrom("null", "[]", "7", "{", '"ping"', "Bad Gateway")),
  }),
);

function changed<Item>(items: readonly Item[], changes: readonly Change[], made: (data: string) => Item): Item[] {
  const all = [...items];
  for (const one of changes) {
    const at = one.at % (all.length + 1);
    const item = all[at];
    if (one.what === "other") all.splice(at, 0, made(one.data));
    else if (one.what === "drop") all.splice(at, 1);
    else if (one.what === "truncate") all.splice(Math.max(at, all.length - 3));
    else if (item !== undefined) all.splice(one.what === "again" ? at : one.to % all.length, 0, item);
  }
  return all;
}

/** Takes from one list or from the other, each in its order. */
function mixed<Item>(ones: readonly Item[], others: readonly Item[], turns: readonly boolean[]): Item[] {
  const [left, right] = [[...ones], [...others]];
  const taken = turns.flatMap((isFirst) => (isFirst ? left : right).splice(0, 1));
  return [...taken, ...left, ...right];
}

const inFrames = (data: string): WireEvent => ({ data });
const saysNoThought = ({ text }: Heard): void => {
  for (const word of THOUGHT_WORDS) expect(text).not.toContain(word);
};

describe("a reader of frames", () => {
  test("property: hears the same wherever texts are cut into frames", () => {
    fc.assert(
      fc.property(spoken, places, ({ dialect, reply }, at) => {
        expect(readEvents(eventsOf(framesOf(dialect, reply, cutAt(at))))).toEqual(readEvents(eventsOf(framesOf(dialect, reply))));
      }),
      { numRuns: 900 },
    );
  });

  test("property: hears the same with signs of life between", () => {
    fc.assert(
      fc.property(spoken, fc.array(fc.tuple(place, pause), { maxLength: 6 }), ({ dialect, reply }, pauses) => {
        const frames = framesOf(dialect, reply);
        const events = eventsOf(frames);
        for (const [at, one] of pauses) events.splice(at % (events.length + 1), 0, inFrames(one));
        expect(readEvents(events)).toEqual(readEvents(eventsOf(frames)));
      }),
      { numRuns: 700 },
    );
  });

  test("hears a whole message behind an empty delta", () => {
    const message = { choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] };
    expect(readEvents(eventsOf([{ choices: [{ index: 0, delta: {} }] }, message])).text).toBe("Hello");
  });

  test("property: fails in no other way than it says, whatever is lost, comes twice, late or from another answer", () => {
    fc.assert(
      fc.property(
        spoken,
        spoken,
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.array(change, { maxLength: 6 }),
        (one, other, turns, changes) => {
          const events = mixed(eventsOf(framesOf(one.dialect, one.reply)), eventsOf(framesOf(other.dialect, other.reply)), turns);
          expect(FAILURES).toContain(readEvents(changed(events, changes, inFrames)).thrown);
        },
      ),
      { numRuns: 700 },
    );
  });

  test("property: fails in no other way than it says, whatever is in the frames", () => {
    fc.assert(
      fc.property(fc.array(oddFrame, { maxLength: 6 }), fc.boolean(), (frames, thinksFirst) => {
        expect(FAILURES).toContain(
          readEvents(
            frames.map((frame) => inFrames(JSON.stringify(frame))),
            thinksFirst,
          ).thrown,
        );
      }),
      { numRuns: 1_200 },
    );
  });
});

describe("a thought", () => {
  const beside = DIALECTS.filter(({ tags, thinks }) => thinks && !tags);
  const tagged = DIALECTS.filter(({ tags, thinks }) => thinks && tags);

  test("property: is not said that comes in a field of its own, whatever is lost, comes twice, late or from another answer", () => {
    const others = spokenIn(DIALECTS.filter(({ tags }) => !tags));
    fc.assert(
      fc.property(
        spokenIn(beside),
        others,
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.array(change, { maxLength: 6 }),
        (one, other, turns, changes) => {
          const events = mixed(eventsOf(framesOf(one.dialect, one.reply)), eventsOf(framesOf(other.dialect, other.reply)), turns);
          saysNoThought(readEvents(changed(events, changes, inFrames)));
        },
      ),
      { numRuns: 700 },
    );
  });

  test("property: is not said that comes between its tags, wherever they are cut and whatever is lost or comes twice beside them", () => {
    const contentOf = ({ choices }: { choices?: unknown }): string => {
      const { content } = (choices as { delta?: { content?: unknown } }[])[0]?.delta ?? {};
      return typeof content === "string" ? content : "";
    };
    let tried = 0;
    fc.assert(
      fc.property(spokenIn(tagged), places, fc.array(change, { maxLength: 3 }), ({ dialect, reply }, at, changes) => {
        const [opening, closing] = dialect.tags ?? ["", ""];
        const frames = changed(framesOf(dialect, reply, cutAt(at)), changes, () => ({ choices: [] }));
        const said = frames.map(contentOf).join("").trimStart();
        const end = said.indexOf(closing);
        const isWhole = said.startsWith(opening) && end >= 0 && !/[<[◁]/.test(said.slice(opening.length, end));
        if (!isWhole || THOUGHT_WORDS.some((word) => said.slice(end).includes(word))) return;
        tried++;
        saysNoThought(readEvents(eventsOf(frames)));
      }),
      { numRuns: 900 },
    );
    expect(tried).toBeGreaterThan(200);
  });
});
