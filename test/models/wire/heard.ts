import { makeAnswerReader, type WireEvent } from "../../../models/wire/read-answer.ts";
import type { Delta, Finish } from "../../../models/wire/delta.ts";
import type { Frame } from "./dialect-frames.ts";

/** What deltas say together, however they are cut. */
export interface Heard {
  text: string;
  thoughts: string;
  calls: { id: string; name: string; arguments: string }[];
  usage: unknown;
  /** How, and as the server said it; null: the answer did not end. */
  ended: { finish: Finish; word: string } | null;
  /** The name of what was thrown. */
  thrown: string | null;
}

export const silence = (): Heard => ({ text: "", thoughts: "", calls: [], usage: null, ended: null, thrown: null });

/** Adds a delta to what was heard. Throws when a call comes before the one in front of it, or behind the end. */
export function hear(heard: Heard, delta: Delta): void {
  if (heard.ended !== null) throw new Error(`${delta.type} behind the end`);
  switch (delta.type) {
    case "text":
      heard.text += delta.text;
      break;
    case "thought":
      heard.thoughts += delta.text;
      break;
    case "retract":
      heard.thoughts += heard.text;
      heard.text = "";
      break;
    case "call": {
      if (delta.place > heard.calls.length) throw new Error(`a call at ${delta.place} behind ${heard.calls.length}`);
      const call = (heard.calls[delta.place] ??= { id: "", name: "", arguments: "" });
      call.id ||= delta.id;
      call.name += delta.name;
      call.arguments += delta.arguments;
      break;
    }
    case "usage":
      heard.usage = delta.usage;
      break;
    case "finish":
      heard.ended = { finish: delta.finish, word: delta.word };
      break;
    case "echo":
    case "alive":
  }
}

export const eventsOf = (frames: readonly Frame[]): WireEvent[] => frames.map((frame) => ({ data: JSON.stringify(frame) }));

/** What the reader makes of events, up to the first error; behind the last the server says that it is done. */
export function readEvents(events: readonly WireEvent[], thinksFirst = false): Heard {
  const heard = silence();
  const reader = makeAnswerReader({ thinksFirst, from: "a server" });
  try {
    for (const event of events) for (const delta of reader.read(event)) hear(heard, delta);
    for (const delta of reader.close(true)) hear(heard, delta);
  } catch (error) {
    heard.thrown = error instanceof Error ? error.name : String(error);
  }
  return heard;
}
