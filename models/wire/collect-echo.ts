import type { EchoedFields } from "../../turn/echo.ts";
import { ECHOED, ownFields } from "./echoed-fields.ts";
import { type Fields, isObject, isSomething } from "./fields.ts";

const OF_EVERY_FUNCTION = new Set(["name", "arguments", "parameters", "description"]);

/** Joins pieces of reasoning: texts and lists grow, the rest is replaced. */
function join(known: unknown, more: unknown): unknown {
  if (typeof known === "string" && typeof more === "string") return known + more;
  if (Array.isArray(known) && Array.isArray(more)) return joinDetails(known as unknown[], more as unknown[]);
  return isObject(known) && isObject(more) ? { ...known, ...more } : more;
}

/** OpenRouter numbers its details; pieces of one number and kind belong together. */
function joinDetails(known: readonly unknown[], more: readonly unknown[]): unknown[] {
  const joined = [...known];
  for (const piece of more) {
    const at = joined.findIndex(
      (one) =>
        isObject(one) && isObject(piece) && one["index"] !== undefined && one["index"] === piece["index"] && one["type"] === piece["type"],
    );
    const one = joined[at];
    if (!isObject(one) || !isObject(piece)) joined.push(piece);
    else
      joined[at] = {
        ...one,
        ...Object.fromEntries(
          Object.entries(piece).map(([name, value]) => {
            const grows = (name === "text" || name === "summary" || name === "data" || name === "thinking") && typeof value === "string";
            return [name, grows ? join(one[name], value) : (value ?? one[name])];
          }),
        ),
      };
  }
  return joined;
}

/** Collects what a server wants back with an answer that has calls. */
export class EchoCollector {
  readonly #message: Fields = {};
  readonly #calls = new Map<number, Fields>();

  addMessage(message: Fields): void {
    for (const name of ECHOED) {
      const value = message[name];
      if (isSomething(value) && (name !== "reasoning" || typeof value === "string")) this.#message[name] = join(this.#message[name], value);
    }
    if (message["reasoning_content"] === "") this.#message["reasoning_content"] ??= ""; // DeepSeek wants it back, empty or not
  }

  addCall(place: number, piece: object): void {
    const known = this.#calls.get(place) ?? {};
    for (const [name, value] of ownFields(piece)) if (isSomething(value)) known[name] = join(known[name], value);
    const within = "function" in piece && isObject(piece.function) ? piece.function : {};
    const more = Object.entries(within).filter(([name, value]) => !OF_EVERY_FUNCTION.has(name) && isSomething(value));
    if (more.length > 0) known["function"] = { ...(known["function"] as Fields | undefined), ...Object.fromEntries(more) };
    if (Object.keys(known).length > 0) this.#calls.set(place, known);
  }

  /** Undefined: it wants nothing back. `reasoning` repeats its other forms, so it goes back alone. */
  fields(): EchoedFields | undefined {
    const { reasoning, ...others } = this.#message;
    const message =
      others["reasoning_content"] !== undefined || others["reasoning_details"] !== undefined || reasoning === undefined
        ? others
        : this.#message;
    const calls = Object.fromEntries(this.#calls);
    const hasMessage = Object.keys(message).length > 0;
    const hasCalls = this.#calls.size > 0;
    if (!hasMessage && !hasCalls) return undefined;
    return { ...(hasMessage ? { message } : {}), ...(hasCalls ? { calls } : {}) };
  }
}
