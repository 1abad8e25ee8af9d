import type { ErrorCode } from "../../../errors/error-codes.ts";
import { type Frame, type Frames, inPieces, type Reply } from "./dialect-frames.ts";

/** What is understood of an answer. */
export interface Read {
  text: string;
  thoughts: string;
  calls: { name: string; arguments: unknown }[];
  cut: "length" | null;
  error: ErrorCode | null;
  usage: { input: number; output: number } | null;
}

/** A way of speaking OpenAI's protocol. */
export interface Dialect {
  name: string;
  /** Who speaks so. */
  servers: string;
  frames: Frames;
  /** The packets of the body. Default: an event for each frame, then `[DONE]`. */
  wire?: (frames: Frame[]) => (string | Buffer)[];
  headers?: Readonly<Record<string, string>>;
  /** The body is compressed. */
  encoding?: "gzip" | "br" | "deflate";
  /** The connection stays open behind the body. */
  staysOpen?: true;
  /** The model's thoughts are told. */
  thinks?: true;
  /** They stand in the content, between these. `""`: nothing opens them. */
  tags?: readonly [opening: string, closing: string];
  /** Default: all. */
  speaks?: readonly ReplyName[];
  /** What differs from the reply itself. */
  reads?: (reply: Reply) => Partial<Read>;
}

export const event = (data: string): string => `data: ${data}\n\n`;
export const DONE = event("[DONE]");
export const eventOf = (frame: Frame): string => event(JSON.stringify(frame));

/** Words that are in a thought are nowhere else. */
const THOUGHTS = "Zwielicht: the asker murmelt of sums, 恐らく. Perhaps ponder {again}?";
const CALLS = [
  { name: "add", arguments: { a: 2, b: 40 } },
  { name: "add", arguments: { a: -1, b: 2, note: 'says "}{" and \\' } },
  { name: "look_up", arguments: { query: "Grüße, 世界 😀", where: { city: "Linz", areas: ["Urfahr", {}] } } },
];
export const REPLIES = {
  words: { text: "Grüß dich, 世界! 😀 It is <b>42</b>, i.e. `a < b`.", thoughts: THOUGHTS, calls: [] },
  calls: { text: "", thoughts: THOUGHTS, calls: CALLS },
  both: { text: "Let me look that up.", thoughts: THOUGHTS, calls: CALLS.slice(1) },
} as const satisfies Record<string, Reply>;
export type ReplyName = keyof typeof REPLIES;
export const THOUGHT_WORDS = ["Zwielicht", "asker", "murmelt", "sums", "恐", "Perhaps", "ponder", "again"];

export const repliesOf = ({ speaks = ["words", "calls", "both"] }: Dialect): readonly ReplyName[] => speaks;

export function expectedOf({ thinks, reads }: Dialect, reply: Reply): Read {
  const { text, thoughts, calls } = reply;
  return {
    ...{ text, thoughts: thinks ? thoughts : "", calls: calls.map((call) => ({ name: call.name, arguments: call.arguments })) },
    ...{ cut: null, error: null, usage: { input: 100, output: 7 } },
    ...reads?.(reply),
  };
}

const EVENTS = (frames: Frame[]): string[] => [...frames.map(eventOf), DONE];

export const framesOf = ({ frames }: Dialect, reply: Reply, cut = inPieces): Frame[] => [...frames(reply, cut)];

/** The body before it is compressed, as packets. */
export const packetsOf = (dialect: Dialect, reply: Reply, cut = inPieces): Buffer[] =>
  (dialect.wire ?? EVENTS)(framesOf(dialect, reply, cut)).map((packet) => Buffer.from(packet));
