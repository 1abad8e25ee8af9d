import { createHash } from "node:crypto";
import { type Amendment, isForeign } from "./amendments.ts";
import type { WireMessage } from "./wire-message.ts";

/** Stands where a role must speak and has nothing to say. */
const MARK = "…";
const NO_ANSWER = "(no answer)";
const NO_RESULT = "The result of this call is not known.";
const GO_ON = "Go on with your answer exactly where it stops. Do not repeat what you have said.";

const hasCalls = ({ tool_calls }: WireMessage): boolean => (tool_calls?.length ?? 0) > 0;

function isBlank(content: WireMessage["content"]): boolean {
  if (content === null || content === undefined) return true;
  if (typeof content === "string") return content.trim() === "";
  return content.every((part) => "text" in part && typeof part.text === "string" && part.text.trim() === "");
}

const partsOf = (content: string | readonly object[]): readonly object[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Joins texts by a blank line; once one has other parts, all are parts. */
function joinContents(one: WireMessage["content"], other: WireMessage["content"]): WireMessage["content"] {
  if (one === null || isBlank(one)) return other ?? one;
  if (other === null || isBlank(other)) return one;
  return typeof one === "string" && typeof other === "string" ? `${one}\n\n${other}` : [...partsOf(one), ...partsOf(other)];
}

export function withLastWords(messages: readonly WireMessage[], words: string): WireMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "user") return [...messages, { role: "user", content: words }];
  return [...messages.slice(0, -1), { ...last, content: joinContents(last.content, words) }];
}

const isText = (part: object): part is { type: "text"; text: string } => "text" in part && typeof part.text === "string";

/** Turns parts that are all text into a text, as blind servers take no parts. Beside pictures no text is empty. */
function plainText(content: WireMessage["content"]): WireMessage["content"] {
  if (content === null || typeof content === "string") return content;
  const parts = content.filter((part) => !isText(part) || part.text.trim() !== "");
  return parts.every(isText) ? parts.map(({ text }) => text).join("\n\n") : parts;
}

/** The length of a name that every server takes. */
const LONGEST_NAME = 64;
const nameFor = (name: string): string => name.replace(/[^\w-]/g, "_").slice(0, LONGEST_NAME) || "unknown";

/** Mistral takes nine letters or digits. */
const SHORT_ID = /^[A-Za-z0-9]{9}$/;
const shortId = (id: string): string => (SHORT_ID.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9));

/** An answer with calls, and their results. */
class Round {
  readonly results: WireMessage[] = [];
  asked: WireMessage;

  constructor(asked: WireMessage) {
    this.asked = asked;
  }

  add({ content, tool_calls = [] }: WireMessage): void {
    const calls = [...(this.asked.tool_calls ?? []), ...tool_calls];
    this.asked = { ...this.asked, content: joinContents(this.asked.content, content), tool_calls: calls };
  }
}

/** Gives every call one result, in the order of the calls; makes repeated ids different. */
function pairCalls({ asked, results }: Round, ids: { used: Set<string>; short: boolean }): WireMessage[] {
  const left = [...results];
  const calls = (asked.tool_calls ?? []).map((call) => {
    const at = left.findIndex(({ tool_call_id }) => tool_call_id === call.id);
    const [result] = at < 0 ? [] : left.splice(at, 1);
    let id = ids.short ? shortId(call.id) : call.id || MARK;
    for (let again = 1; ids.used.has(id) || id === MARK; again++)
      id = ids.short ? shortId(`${call.id} ${again}`) : `${call.id || "call"}_${again}`;
    ids.used.add(id);
    const name = nameFor(call.function.name);
    return {
      call: { ...call, id, function: { ...call.function, name } },
      result: {
        ...result,
        role: "tool" as const,
        tool_call_id: id,
        name,
        content: result && !isBlank(result.content) ? result.content : result ? MARK : NO_RESULT,
      },
    };
  });
  return [{ ...asked, tool_calls: calls.map(({ call }) => call) }, ...calls.map(({ result }) => result)];
}

/** Tells another model's calls, or all, in words for a server that takes only its own calls back. */
function inWords([asked, ...results]: readonly WireMessage[], all: boolean): WireMessage[] {
  if (!asked || !hasCalls(asked) || !(all || isForeign(asked))) return asked ? [asked, ...results] : [];
  const calls = (asked.tool_calls ?? []).map(({ function: { name, arguments: given } }) => `Called ${name} with ${given}.`).join("\n");
  const said = results.reduce<WireMessage["content"]>((whole, { content }) => joinContents(whole, content), null);
  return [
    { role: "assistant", content: joinContents(asked.content, calls) },
    { role: "user", content: said },
  ];
}

/** Separates the text of an answer with calls, for templates that refuse both. */
function textBefore(message: WireMessage): WireMessage[] {
  if (!hasCalls(message) || isBlank(message.content)) return [message];
  return [
    { role: "assistant", content: message.content },
    { role: "user", content: MARK },
    { ...message, content: null },
  ];
}

/** Gives one call each, for templates that know no more. */
function oneByOne(messages: readonly WireMessage[]): WireMessage[] {
  return messages.flatMap((message, index) => {
    if (message.role === "tool") return [];
    const { tool_calls: calls = [] } = message;
    if (calls.length === 0) return [message];
    return calls.flatMap((call, place) => {
      const result = messages[index + 1 + place];
      const said = place === 0 ? message : { role: message.role, content: null };
      return [{ ...said, tool_calls: [call] }, ...(result ? [result] : [])];
    });
  });
}

function takeSystem(messages: readonly WireMessage[]): { system: WireMessage["content"]; others: WireMessage[] } {
  const isSystem = ({ role }: WireMessage): boolean => role === "system" || role === "developer";
  const system = messages.filter(isSystem).reduce<WireMessage["content"]>((whole, { content }) => joinContents(whole, content), null);
  return { system: plainText(system), others: messages.filter((message) => !isSystem(message)) };
}

const messagesOf = (part: WireMessage | Round): WireMessage[] => (part instanceof Round ? [part.asked, ...part.results] : [part]);

/** Joins neighbouring answers, and gathers results after their calls. */
function joinNeighbours(messages: readonly WireMessage[]): (WireMessage | Round)[] {
  const joined: (WireMessage | Round)[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "tool") {
      if (last instanceof Round) last.results.push(message);
      continue; // a result without its call says nothing
    }
    if (isBlank(message.content) && !hasCalls(message)) continue;
    if (hasCalls(message) && last instanceof Round && last.results.length === 0) {
      // some send the calls of one answer in several
      last.add(message);
    } else if (hasCalls(message)) {
      const before = last && !(last instanceof Round) && last.role === "assistant" ? last : undefined;
      if (before) joined.pop();
      joined.push(new Round(before ? { ...message, content: joinContents(before.content, message.content) } : message));
    } else if (last && !(last instanceof Round) && message.role === "assistant" && last.role === "assistant") {
      joined[joined.length - 1] = { ...last, content: joinContents(last.content, message.content) };
    } else {
      joined.push(message);
    }
  }
  return joined;
}

/**
 * Shapes any history so that every server takes it: roles take turns, the system message is first, nothing is empty, each call has its
 * result. Pure. `amendments`: this server's further needs.
 */
export function shapeMessages(messages: readonly WireMessage[], amendments: ReadonlySet<Amendment>): WireMessage[] {
  const { system, others } = takeSystem(messages);
  const used = { used: new Set<string>(), short: amendments.has("short_ids") };
  const rounds = joinNeighbours(others).map((part) => (part instanceof Round ? pairCalls(part, used) : [part]));
  const all = amendments.has("no_calls");
  const isTold = all || amendments.has("calls_in_words");
  let shaped = isTold ? joinNeighbours(rounds.flatMap((round) => inWords(round, all))).flatMap(messagesOf) : rounds.flat();
  if (amendments.has("single_calls")) shaped = oneByOne(shaped);
  if (amendments.has("calls_alone")) shaped = shaped.flatMap(textBefore);

  const turns: WireMessage[] = [];
  for (const message of shaped) {
    const last = turns.at(-1);
    if (!last && message.role === "assistant") turns.push({ role: "user", content: MARK });
    // An unanswered question is no part of the next one.
    if (message.role === "user" && last?.role === "user") turns.push({ role: "assistant", content: NO_ANSWER });
    if (message.role === "user" && last?.role === "tool") turns.push({ role: "assistant", content: MARK });
    turns.push(withContent(message, amendments));
  }
  if (amendments.has("user_last") && turns.at(-1)?.role === "assistant") turns.push({ role: "user", content: GO_ON });
  if (isBlank(system)) return turns.length > 0 ? turns : [{ role: "user", content: MARK }];
  if (!amendments.has("system_in_user")) {
    const role = amendments.has("developer") && !amendments.has("no_developer") ? "developer" : "system";
    const rest = turns.length > 0 ? turns : [{ role: "user" as const, content: MARK }];
    return [{ role, content: system }, ...rest];
  }
  const [first, ...rest] = turns;
  return first ? [{ ...first, content: joinContents(system, first.content) }, ...rest] : [{ role: "user", content: system }];
}

function withContent(message: WireMessage, amendments: ReadonlySet<Amendment>): WireMessage {
  const { name, tool_calls, ...bare } = message;
  const nameless = hasCalls(message) && tool_calls ? { ...bare, tool_calls } : bare;
  const named = name !== undefined && message.role === "tool" && !amendments.has("no_name") ? { ...nameless, name } : nameless;
  const content = plainText(message.content);
  if (!isBlank(content)) return { ...named, content };
  return { ...named, content: hasCalls(message) && (amendments.has("calls_alone") || !amendments.has("text_beside_calls")) ? null : MARK };
}
