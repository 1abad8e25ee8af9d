import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { fitSteps, pruneSteps, type TurnSteps } from "../../../agents/loop/window-with-steps.ts";
import type { Step } from "../../../stores/postgres/agents/step-store.ts";

const now = new Date();
const step = (tokens: number, name = "web_fetch", kind: Step["kind"] = "tool"): Step => {
  const rest = {
    seq: 1,
    path: ["helper"],
    task: 0,
    agent: "helper",
    callId: "call",
    arguments: {},
    echo: null,
    ok: true,
    startedAt: now,
    endedAt: now,
  };
  return { ...rest, kind, name, output: `${tokens} tokens of output`, tokens };
};
const turns = (...tokens: number[][]): TurnSteps[] =>
  tokens.map((each, index) => ({ userMessageId: String(index), steps: each.map((one) => step(one)) }));
const outputs = (given: readonly TurnSteps[]) => given.map(({ steps }) => steps.map(({ output }) => output));
const isLeftOut = (output: string | null) => /^\[output of \w+ left out, \d+ tokens\]$/.test(output ?? "");

test("the last two turns keep their outputs, however long", () => {
  const given = turns([50_000], [60_000]);
  expect(pruneSteps(given)).toEqual(given);
});

test("the newest 40,000 tokens before the last two turns stay", () => {
  const [oldest, older, newer] = outputs(pruneSteps(turns([30_000], [30_000], [5_000, 5_000], [1], [1])));
  expect(oldest?.every(isLeftOut)).toBe(true);
  expect(older).toEqual(["30000 tokens of output"]);
  expect(newer).toEqual(["5000 tokens of output", "5000 tokens of output"]);
});

test("nothing is left out when that saves less than 20,000 tokens", () => {
  const given = turns([19_000], [40_000], [1], [1]);
  expect(pruneSteps(given)).toEqual(given);
});

test("a skill's text stays", () => {
  const skill = { userMessageId: "skill", steps: [step(50_000, "load_skill")] };
  expect(outputs(pruneSteps([skill, ...turns([45_000], [30_000], [1], [1])]))[0]).toEqual(["50000 tokens of output"]);
});

const anyTurns = fc.array(
  fc.array(
    fc.record({
      tokens: fc.integer({ min: 0, max: 60_000 }),
      name: fc.constantFrom("load_skill", "web_fetch"),
      kind: fc.constantFrom("tool" as const, "model" as const),
    }),
    { maxLength: 5 },
  ),
  { maxLength: 8 },
);
const toTurns = (given: { tokens: number; name: string; kind: "tool" | "model" }[][]): TurnSteps[] =>
  given.map((steps, index) => ({ userMessageId: String(index), steps: steps.map(({ tokens, name, kind }) => step(tokens, name, kind)) }));

test("pruning keeps every step, the last two turns, skills and the model's words", () => {
  fc.assert(
    fc.property(anyTurns, (given) => {
      const before = toTurns(given);
      const after = pruneSteps(before);
      expect(after.slice(-2)).toEqual(before.slice(-2));
      after.forEach(({ steps }, at) =>
        steps.forEach((now, index) => {
          const was = before[at]?.steps[index];
          expect({ ...now, output: null, tokens: 0 }).toEqual({ ...was, output: null, tokens: 0 });
          if (now.name === "load_skill" || now.kind === "model") expect(now).toEqual(was);
        }),
      );
    }),
  );
});

test("steps fit into any room: outputs give way first, then the oldest turns", () => {
  fc.assert(
    fc.property(anyTurns, fc.integer({ min: 0, max: 200_000 }), (given, room) => {
      const fitting = fitSteps(toTurns(given), room);
      const tokens = fitting.flatMap(({ steps }) => steps).reduce((sum, one) => sum + one.tokens + 30, 0);
      expect(tokens).toBeLessThanOrEqual(room);
      expect(fitting.map(({ userMessageId }) => userMessageId)).toEqual(
        given.map((_, index) => String(index)).slice(given.length - fitting.length),
      );
    }),
  );
});
