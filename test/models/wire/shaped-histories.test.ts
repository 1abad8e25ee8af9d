import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Amendment } from "../../../models/wire/amendments.ts";
import type { WireMessage } from "../../../models/wire/wire-message.ts";
import { STRICT_SERVERS, type StrictServer } from "./strict-servers.ts";
import {
  answeredIdsOf,
  anyHistory,
  idsOf,
  ordinaryHistory,
  plainHistory,
  shape,
  textsOf,
  withoutPictures,
  withoutTools,
} from "./wire-histories.ts";

const SHAPING = ["system_in_user", "developer", "user_last", "short_ids", "text_beside_calls", "single_calls", "no_name"] as const;
const anyAmendments: fc.Arbitrary<Amendment[]> = fc.subarray([...SHAPING]);
const RUNS = { numRuns: 400 };

const asFor = ({ takes }: StrictServer, history: readonly WireMessage[]): readonly WireMessage[] => {
  const known = takes.tools ? history : withoutTools(history);
  return takes.pictures ? known : withoutPictures(known);
};

describe("whatever the history,", () => {
  test.each(STRICT_SERVERS.map((server) => [server.name, server] as const))("%s takes what is shaped for it", (_, server) => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const shaped = shape(asFor(server, history), ...server.amendments);
        const refusal = server.check(shaped);
        if (refusal !== null) throw new Error(`${refusal}\n${JSON.stringify(shaped, null, 1)}`);
      }),
      RUNS,
    );
  });

  test.each(STRICT_SERVERS.map((server) => [server.name, server] as const))(
    "%s takes it, too, if more is amended than it needs",
    (_, server) => {
      fc.assert(
        fc.property(anyHistory, anyAmendments, (history, more) => {
          const others = more.filter((amendment) => amendment !== "developer");
          const shaped = shape(asFor(server, history), ...server.amendments, ...others);
          const refusal = server.check(shaped);
          if (refusal !== null) throw new Error(`${refusal}\n${JSON.stringify(shaped, null, 1)}`);
        }),
        RUNS,
      );
    },
  );

  test("the messages keep the rules that all servers share, and those of the amendments", () => {
    fc.assert(
      fc.property(anyHistory, anyAmendments, (history, amendments) => {
        const shaped = shape(history, ...amendments);
        const has = (amendment: Amendment) => amendments.includes(amendment);
        const [instruction, ...others] = shaped;
        const rest = instruction?.role === "system" || instruction?.role === "developer" ? others : shaped;

        expect(rest[0]?.role).toBe("user");
        expect(rest.every(({ role }) => ["user", "assistant", "tool"].includes(role))).toBe(true);
        if (has("system_in_user")) expect(rest).toBe(shaped);
        if (instruction?.role === "developer") expect(has("developer")).toBe(true);
        rest.forEach((message, index) => {
          const next = rest[index + 1];
          const asked = message.tool_calls ?? [];
          if (message.role !== "tool" && next) expect(next.role).not.toBe(message.role);
          if (message.role === "tool" && next) expect(next.role).not.toBe("user");
          if (message.content === null) expect(asked.length > 0 && !has("text_beside_calls")).toBe(true);
          else expect(textsOf(message).length === 0 || textsOf(message).every((text) => text.trim() !== "")).toBe(true);
          if (message.content !== null) expect(message.content.length).toBeGreaterThan(0);
          expect(rest.slice(index + 1, index + 1 + asked.length).map(({ tool_call_id }) => tool_call_id)).toEqual(
            asked.map(({ id }) => id),
          );
          for (const one of asked) expect(one.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          if (has("single_calls")) expect(asked.length).toBeLessThanOrEqual(1);
          if (has("no_name")) expect(message).not.toHaveProperty("name");
        });
        expect(answeredIdsOf(rest)).toEqual(idsOf(rest));
        expect(new Set(idsOf(rest)).size).toBe(idsOf(rest).length);
        if (has("short_ids")) for (const id of idsOf(rest)) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
        if (has("user_last")) expect(rest.at(-1)?.role).not.toBe("assistant");
      }),
      RUNS,
    );
  });

  test("shaping twice changes nothing", () => {
    fc.assert(
      fc.property(anyHistory, anyAmendments, (history, amendments) => {
        const once = shape(history, ...amendments);
        expect(shape(once, ...amendments)).toEqual(once);
      }),
      RUNS,
    );
  });

  test("no text of a user, an answer or an instruction is lost, and no picture", () => {
    fc.assert(
      fc.property(anyHistory, anyAmendments, (history, amendments) => {
        const shaped = shape(history, ...amendments);
        const kept = shaped.filter(({ role }) => role !== "tool");
        const spoken = history.filter(({ role }) => role !== "tool");
        const texts = kept.flatMap(textsOf);
        for (const text of spoken.flatMap(textsOf).filter((one) => one.trim() !== ""))
          expect(texts.some((one) => one.includes(text))).toBe(true);
        const picturesIn = (messages: readonly WireMessage[]) =>
          messages.flatMap(({ content }) => (Array.isArray(content) ? (content as object[]).filter((part) => "image_url" in part) : []));
        expect(picturesIn(kept)).toEqual(picturesIn(history));
      }),
      RUNS,
    );
  });

  test("the given messages stay as they were", () => {
    fc.assert(
      fc.property(anyHistory, anyAmendments, (history, amendments) => {
        const before = structuredClone(history);
        shape(history, ...amendments);
        expect(history).toEqual(before);
      }),
      RUNS,
    );
  });
});

describe("an ordinary history", () => {
  test("is returned as it is", () => {
    fc.assert(
      fc.property(plainHistory, (history) => expect(shape(history)).toEqual(history)),
      RUNS,
    );
  });

  test("with calls and their results is returned as it is, too", () => {
    fc.assert(
      fc.property(ordinaryHistory, (history) => expect(shape(history)).toEqual(history)),
      RUNS,
    );
  });

  test("begins as its beginning did, so that servers find it in their caches", () => {
    fc.assert(
      fc.property(ordinaryHistory, anyAmendments, (history, amendments) => {
        const whole = shape(history, ...amendments);
        history.forEach((message, index) => {
          const next = history[index + 1];
          if (message.role !== "user" && (message.role !== "tool" || next?.role === "tool")) return; // nobody asks a model there
          const beginning = shape(history.slice(0, index + 1), ...amendments);
          expect(whole.slice(0, beginning.length)).toEqual(beginning);
        });
      }),
      RUNS,
    );
  });
});
