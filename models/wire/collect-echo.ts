import type { EchoedFields } from "../../turn/echo.ts";

/** Fields of a message that servers want back: DeepSeek and its like, OpenRouter, Gemini, Anthropic behind gateways. */
const OF_MESSAGE = [
  "reasoning_content",
  "reasoning_details",
  "thinking_blocks",
  "extra_content",
  "thought_signature",
  "reasoning_signature",
  "encrypted_content",
];
/** What every call has. Any other field of a call is its server's own. */
const OF_EVERY_CALL = new Set(["index", "id", "type", "function", "name", "arguments"]);
const OF_EVERY_FUNCTION = new Set(["name", "arguments", "parameters", "description"]);

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** Pieces of reasoning come one by one: texts are joined, lists grow, the rest is replaced. */
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

export const isSomething = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0);

/** Collects what a server wants back with an answer that has calls. */
export class EchoCollector {
  readonly #message: Fields = {};
  readonly #calls = new Map<number, Fields>();

  addMessage(message: Fields): void {
    for (const name of OF_MESSAGE) if (isSomething(message[name])) this.#message[name] = join(this.#message[name], message[name]);
    if (message["reasoning_content"] === "") this.#message["reasoning_content"] ??= ""; // DeepSeek wants it back, empty or not
    if (typeof message["reasoning"] === "string" && message["reasoning"] !== "")
      this.#message["reasoning"] = join(this.#message["reasoning"], message["reasoning"]);
  }

  addCall(place: number, piece: object): void {
    const known = this.#calls.get(place) ?? {};
    for (const [name, value] of Object.entries(piece))
      if (!OF_EVERY_CALL.has(name) && isSomething(value)) known[name] = join(known[name], value);
    const within = "function" in piece && isObject(piece.function) ? piece.function : {};
    const more = Object.entries(within).filter(([name, value]) => !OF_EVERY_FUNCTION.has(name) && isSomething(value));
    if (more.length > 0) known["function"] = { ...(known["function"] as Fields | undefined), ...Object.fromEntries(more) };
    if (Object.keys(known).length > 0) this.#calls.set(place, known);
  }

  /** Undefined: it wants nothing back. `reasoning` is the same text as its other forms, so it goes back alone. */
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
