import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { streamDeltas } from "../../../models/stream-deltas.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { PATIENT } from "../../support/services/use-model-server.ts";
import { useOpened } from "../../support/use-opened.ts";
import { type Dialect, packetsOf } from "./dialect.ts";
import { encoded, headersOf, sendPackets } from "./dialect-server.ts";
import { cutAt, place, places, signOfLife, spoken, type Spoken } from "./fuzz-arbitraries.ts";
import { hear, type Heard, silence } from "./heard.ts";

interface Body {
  dialect: Dialect;
  packets: Buffer[];
  /** What becomes of the connection behind the packets. */
  then: "end" | "break" | "stay";
}

let body: Body;
const server = useOpened(() =>
  startHttpServer((request, response) => {
    request.resume();
    response.writeHead(200, headersOf(body.dialect));
    const { then } = body;
    sendPackets(response, body.packets).then(
      () => (then === "end" ? response.end() : then === "break" ? response.destroy() : undefined),
      () => response.destroy(),
    );
  }),
);

/** Nothing that a server sends takes so long to read. */
const HANGS_MS = 15_000;

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("It hangs.")), HANGS_MS);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** A model that has learnt nothing. */
const newModel = () => createOpenAIChatModel({ model: "m", apiKey: "a key", baseUrl: `${server.origin}/v1` });
const prompt = [new HumanMessage("Hello!")];

async function hearBody(sent: Body): Promise<Heard> {
  body = sent;
  const heard = silence();
  try {
    for await (const batch of streamDeltas(newModel(), prompt, { signal: new AbortController().signal }))
      for (const delta of batch) hear(heard, delta);
  } catch (error) {
    heard.thrown = error instanceof Error ? error.name : String(error);
  }
  return heard;
}

const onePacket = ({ dialect, reply }: Spoken): Body => ({
  dialect,
  packets: encoded(dialect, [Buffer.concat(packetsOf(dialect, reply))]),
  then: "end",
});

/** Cut at places. A cut may be within a character, or within what is compressed. */
function inPackets(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = at.map((one) => one % (bytes.length + 1)).sort((one, other) => one - other);
  return [0, ...ends].map((from, index) => bytes.subarray(from, ends[index] ?? bytes.length)).filter(({ length }) => length > 0);
}

describe("a body", () => {
  test("property: is heard in the same way, however it is cut into packets", async () => {
    await fc.assert(
      fc.asyncProperty(spoken, places, async (said, at) => {
        const whole = onePacket(said);
        const heard = await inTime(hearBody({ ...whole, packets: inPackets(Buffer.concat(whole.packets), at) }));
        expect(heard).toEqual(await inTime(hearBody(whole)));
      }),
      { numRuns: 250 },
    );
  });

  const between = fc.oneof(
    fc.constantFrom(": ping\n\n", ":\n", "\n\n", "retry: 10\n\n", "id: 7\n\n", "event: ping\n\n"),
    signOfLife.map((data) => `event: ping\ndata: ${data}\n\n`),
  );

  test("property: is heard in the same way with comments and pings between its events, and other texts in its frames", async () => {
    await fc.assert(
      fc.asyncProperty(spoken, places, fc.array(fc.tuple(place, between), { maxLength: 6 }), async (said, at, pings) => {
        const { dialect, reply } = said;
        const isWhole = dialect.wire !== undefined; // its packets need not be events
        const packets = packetsOf(dialect, reply, cutAt(at));
        for (const [before, ping] of pings) if (!isWhole) packets.splice(before % (packets.length + 1), 0, Buffer.from(ping));
        const heard = await inTime(hearBody({ dialect, packets: encoded(dialect, packets), then: "end" }));
        expect(heard).toEqual(await inTime(hearBody(onePacket(said))));
      }),
      { numRuns: 250 },
    );
  });
});

type Damage = (bytes: Buffer) => Buffer;
const inserted = (bytes: Buffer, at: number, more: Uint8Array): Buffer => Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
const damage: fc.Arbitrary<Damage> = fc.oneof(
  place.map(
    (at): Damage =>
      (bytes) =>
        bytes.subarray(0, at % (bytes.length + 1)),
  ),
  fc.tuple(place, fc.nat({ max: 255 })).map(([at, byte]): Damage => (bytes) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) changed[at % changed.length] = byte;
    return changed;
  }),
  fc.tuple(place, place).map(([at, length]): Damage => (bytes) => {
    const from = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + (length % 40))]);
  }),
  fc.tuple(place, place, place).map(([at, length, to]): Damage => (bytes) => {
    const from = at % (bytes.length + 1);
    return inserted(bytes, to % (bytes.length + 1), bytes.subarray(from, from + (length % 400)));
  }),
  fc.tuple(place, fc.uint8Array({ maxLength: 9 })).map(
    ([at, more]): Damage =>
      (bytes) =>
        inserted(bytes, at % (bytes.length + 1), more),
  ),
);
const damaged = fc
  .tuple(spoken, fc.array(damage, { minLength: 1, maxLength: 4 }), places)
  .map(([said, damages, at]): Omit<Body, "then"> => {
    const bytes = damages.reduce<Buffer>((all, change) => change(all), Buffer.concat(onePacket(said).packets));
    return { dialect: said.dialect, packets: inPackets(bytes, at) };
  });

describe("a damaged body", () => {
  test("property: fails in no other way than it says, and does not hang", async () => {
    await fc.assert(
      fc.asyncProperty(damaged, fc.constantFrom("end", "break"), async (sent, then) => {
        const { thrown } = await inTime(hearBody({ ...sent, then }));
        expect([null, "ServerFailure", "ConnectionError", "SyntaxError"]).toContain(thrown);
      }),
      { numRuns: 400 },
    );
  });

  test("property: gives an answer all the same, or the error of a model", async () => {
    await fc.assert(
      fc.asyncProperty(damaged, fc.constantFrom("end", "break"), async (sent, then) => {
        body = { ...sent, then };
        const streamed: string[] = [];
        const onToken = (token: string): void => void streamed.push(token);
        const answer = await inTime(streamAnswer({ model: newModel(), prompt, timeouts: PATIENT, patience: "none", onToken }));
        expect(answer.error?.code ?? "model_").toMatch(/^model_|^context_too_long$/);
        expect(streamed.join("").endsWith(answer.text)).toBe(true);
        if (answer.error) expect(answer.error.message).not.toContain("undefined");
      }),
      { numRuns: 200 },
    );
  });

  test("property: does not keep anybody waiting for longer than is set, when its server falls silent", async () => {
    const timeouts = { firstTokenMs: 40, idleMs: 40, queueMs: 80 };
    await fc.assert(
      fc.asyncProperty(damaged, async (sent) => {
        body = { ...sent, then: "stay" };
        const { error } = await inTime(streamAnswer({ model: newModel(), prompt, timeouts, patience: "none", onToken: () => undefined }));
        expect(error?.code ?? "model_").toMatch(/^model_|^context_too_long$/);
      }),
      { numRuns: 25 },
    );
  });
});
