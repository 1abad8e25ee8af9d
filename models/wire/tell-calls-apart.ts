import type { Delta } from "./delta.ts";

/** A piece of a call as servers send it. */
export interface WirePiece {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown } | null;
  name?: unknown;
  arguments?: unknown;
}

interface OpenCall {
  place: number;
  id: string;
  name: string;
  arguments: string;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Arguments may come as an object. */
function argumentsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

function isWholeJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** Tells the calls of an answer apart by id, then by index; else a piece belongs to the last one. */
export function makeTellCallsApart() {
  const calls: OpenCall[] = [];
  const byIndex = new Map<number, OpenCall>();

  function open(id: string): OpenCall {
    const call = { place: calls.length, id, name: "", arguments: "" };
    calls.push(call);
    return call;
  }

  /** A piece with a name may begin another call, although its id or its index is known. */
  const beginsAnother = (call: OpenCall, id: string, name: string, given: string): boolean => {
    if (name === "") return false;
    if (id !== "" && call.id !== "" && id !== call.id) return true;
    if (id !== "" && id === call.id && given === call.arguments) return false; // said again
    const startsAnew = given === "" ? name !== call.name : /^\s*\{/.test(given);
    return startsAnew && call.name !== "" && isWholeJson(call.arguments);
  };

  function find(piece: WirePiece, id: string, name: string, given: string): OpenCall {
    const index = piece.index === null || piece.index === undefined || piece.index === "" ? NaN : Number(piece.index);
    if (Number.isInteger(index)) {
      const known = byIndex.get(index) ?? (name === "" ? calls.find((call) => id !== "" && call.id === id) : undefined);
      const call = known && !beginsAnother(known, id, name, given) ? known : open(id);
      byIndex.set(index, call);
      return call;
    }
    const known = id === "" ? calls.at(-1) : calls.find((call) => call.id === id);
    if (!known && id !== "" && name === "") return calls.at(-1) ?? open(id); // a new id in the middle of a call
    if (!known || beginsAnother(known, id, name, given)) return open(id);
    return id === "" && name !== "" && name !== known.name ? open(id) : known;
  }

  return {
    add(piece: WirePiece): Extract<Delta, { type: "call" }> {
      const id = textOf(piece.id);
      const said = textOf(piece.function?.name ?? piece.name);
      const given = argumentsOf(piece.function?.arguments ?? piece.arguments);
      const call = find(piece, id, said, given);
      // A name comes once, with each piece, or in pieces.
      const isMore = said !== "" && said !== call.name && (call.arguments === "" || call.name === "");
      const name = !isMore ? "" : said.startsWith(call.name) ? said.slice(call.name.length) : said;
      // Some send the arguments so far with each piece.
      const isSoFar = call.arguments.length > 1 && given.startsWith(call.arguments);
      const more = isSoFar ? given.slice(call.arguments.length) : given;
      call.id ||= id;
      call.name += name;
      call.arguments += more;
      return { type: "call", place: call.place, id, name, arguments: more };
    },
  };
}
