/** A piece of an answer. `retract`: all text so far was a thought; its closing tag has now come. */
export type SplitPiece = { type: "text"; text: string } | { type: "thought"; text: string } | { type: "retract" };

/** Tags around thoughts at the beginning of an answer. */
const TAGS: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["[think]", "[/think]"],
  ["◁think▷", "◁/think▷"],
  ["<|channel>thought", "<channel|>"], // Gemma 4
];
const LONGEST_OPENING = Math.max(...TAGS.map(([open]) => open.length));
/** Lower case may have another length than the text, so expressions search. */
const CLOSINGS = new Map(TAGS.map(([, close]) => [close, new RegExp(close.replace(/[[\]|]/g, "\\$&"), "i")]));
const CLOSING = /<\/(?:think|thinking|thought|reasoning)>|\[\/think\]|◁\/think▷|<channel\|>/i;
/** A possible beginning of a closing tag. */
const CLOSING_BEGINS = /(?:<(?:\/[a-z]{0,9}|[a-z]{1,7}\|?)?|\[(?:\/[a-z]{0,5})?|◁(?:\/[a-z]{0,5})?)$/i;
const MAY_CLOSE = /[<[◁]/;
/** Harmony, the format of gpt-oss: https://cookbook.openai.com/articles/openai-harmony */
const HARMONY = ["<|channel|>", "<|start|>", "<|message|>"] as const;
const HARMONY_TOKEN = /<\|(start|channel|message|constrain|end|return|call)\|>/;
const HARMONY_BEGINS = /<(?:\|[a-z]{0,9}\|?)?$/;
const OPENINGS = [...TAGS.map(([open]) => open), ...HARMONY];

/** Whether a closing tag has no opening tag before it and is not in code. */
function isAlone(before: string, closing: string): boolean {
  const opening = TAGS.find(([, close]) => close === closing.toLowerCase())?.[0] ?? "";
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const isCode = before.split("```").length % 2 === 0 || line.split("`").length % 2 === 0;
  return !isCode && !before.toLowerCase().includes(opening);
}

export interface ThoughtSplitterOptions {
  /** The model's answers begin with a thought without an opening tag. Default false. */
  thinksFirst?: boolean;
}

type State =
  /** Only blanks have come, or a thought has just ended. */
  | { at: "start" }
  /** `close`: the tag that ends it; null: any. */
  | { at: "thought"; close: string | null }
  /** `channel`: null in a header. */
  | { at: "harmony"; channel: "final" | "thought" | null; header: string; hasChannel: boolean }
  | { at: "text" };

/** Splits thoughts from a streamed answer. It holds back only what may be a tag. Tags after the beginning and in code stay text. */
export function makeThoughtSplitter({ thinksFirst = false }: ThoughtSplitterOptions = {}) {
  let state: State = thinksFirst ? { at: "thought", close: null } : { at: "start" };
  let held = "";
  let said = ""; // text that was handed on
  let assumed = ""; // thoughts only because of `thinksFirst`
  let hasThought = false;
  let isLone = false;
  let pieces: SplitPiece[] = [];

  function say(text: string): void {
    if (text === "") return;
    said += text;
    pieces.push({ type: "text", text });
  }

  function think(text: string): void {
    if (text === "") return;
    if (state.at === "thought" && state.close === null) assumed += text;
    else hasThought ||= text.trim() !== "";
    pieces.push({ type: "thought", text });
  }

  function isOpened(): boolean {
    const trimmed = held.trimStart();
    const lower = trimmed.slice(0, LONGEST_OPENING).toLowerCase();
    const tag = TAGS.find(([open]) => lower.startsWith(open));
    if (tag) {
      held = trimmed.slice(tag[0].length);
      state = { at: "thought", close: tag[1] };
      hasThought = true;
      return true;
    }
    if (HARMONY.some((token) => lower.startsWith(token))) {
      held = trimmed;
      state = { at: "harmony", channel: null, header: "", hasChannel: false };
      hasThought = true;
      return true;
    }
    if (trimmed === "" || OPENINGS.some((open) => open.startsWith(lower))) return false;
    if (hasThought) held = trimmed;
    state = { at: "text" };
    return true;
  }

  /** False: the rest waits for more. */
  function step(): boolean {
    switch (state.at) {
      case "start":
        return isOpened();
      case "thought":
        return stepInThought(state.close);
      case "harmony":
        return stepInHarmony(state);
      case "text":
        return stepInText();
    }
  }

  function stepInThought(close: string | null): boolean {
    if (close === null && assumed === "") {
      const begin = held.trimStart().slice(0, LONGEST_OPENING).toLowerCase();
      if (OPENINGS.some((open) => begin.startsWith(open))) {
        state = { at: "start" };
        return true;
      }
      if (OPENINGS.some((open) => open.startsWith(begin))) return false;
    }
    const found = (close === null ? CLOSING : (CLOSINGS.get(close) ?? CLOSING)).exec(held);
    if (!found) {
      const rest = CLOSING_BEGINS.exec(held)?.index ?? held.length;
      think(held.slice(0, rest));
      held = held.slice(rest);
      return false;
    }
    think(held.slice(0, found.index));
    held = held.slice(found.index + found[0].length);
    hasThought = true;
    assumed = "";
    state = { at: "start" };
    return true;
  }

  function stepInText(): boolean {
    const found = hasThought ? null : CLOSING.exec(held);
    if (!found) {
      const rest = hasThought ? held.length : (CLOSING_BEGINS.exec(held)?.index ?? held.length);
      say(held.slice(0, rest));
      held = held.slice(rest);
      return false;
    }
    const { index, 0: closing } = found;
    const before = held.slice(0, index);
    held = held.slice(index + closing.length);
    if (!isAlone(said + before, closing)) {
      say(before + closing);
      return true;
    }
    say(before);
    isLone = said.trim() !== "";
    if (isLone) pieces.push({ type: "retract" });
    said = "";
    hasThought = true;
    state = { at: "start" };
    return true;
  }

  function stepInHarmony({ channel, header, hasChannel }: Extract<State, { at: "harmony" }>): boolean {
    const found = HARMONY_TOKEN.exec(held);
    const name = found?.[1];
    const isQuoted = channel !== null && (name === "message" || name === "constrain");
    const until = isQuoted
      ? (found?.index ?? 0) + (found?.[0].length ?? 0)
      : (found?.index ?? HARMONY_BEGINS.exec(held)?.index ?? held.length);
    const body = held.slice(0, until);
    if (channel === "final") say(body);
    else if (channel === "thought") think(body);
    held = held.slice(until + (found && !isQuoted ? found[0].length : 0));
    const all = channel === null ? header + body : "";
    if (!found || isQuoted) {
      state = { at: "harmony", channel, header: all, hasChannel };
      return found !== null;
    }
    if (name === "message")
      state = { at: "harmony", channel: !hasChannel || /^\s*final\b/.test(all) ? "final" : "thought", header: "", hasChannel };
    else if (name === "channel" || name === "start") state = { at: "harmony", channel: null, header: "", hasChannel: name === "channel" };
    else if (name !== "constrain") state = { at: "harmony", channel: "final", header: "", hasChannel: false }; // what follows without a header
    return true;
  }

  function take(): SplitPiece[] {
    const taken = pieces;
    pieces = [];
    return taken;
  }

  return {
    push(text: string): SplitPiece[] {
      if (held === "" && state.at === "text" && text !== "" && !MAY_CLOSE.test(text)) {
        said += text;
        return [{ type: "text", text }];
      }
      held += text;
      while (held !== "" && step());
      return take();
    },
    /** `isWhole`: the answer was not cut off. Text that was only assumed to be a thought is then the answer. */
    end(isWhole: boolean): SplitPiece[] {
      const rest = held;
      held = "";
      if (state.at === "thought" && state.close === null && isWhole) say((assumed + rest).trimStart());
      else if (state.at === "thought") think(rest);
      else if (state.at === "harmony") (state.channel === "final" ? say : think)(state.channel === null ? "" : rest);
      else say(hasThought && state.at === "start" ? rest.trimStart() : rest);
      return take();
    },
    hasLoneClosing: (): boolean => isLone,
    /** Whether a model said to begin with a thought did not. Known at the end. */
    thinksNotFirst: (): boolean => thinksFirst && assumed !== "" && state.at === "thought",
  };
}

/** Postgres also understands this pattern and the next. */
export const BEGINS_AS_THOUGHT = /^\s*(?:<(?:think|thought|reasoning|\|)|\[think\]|◁think)/i;
/** Matches every answer with thoughts, and some others. */
export const MAY_HAVE_THOUGHTS = new RegExp(`${BEGINS_AS_THOUGHT.source}|</(?:think|thought|reasoning)|\\[/think\\]|◁/think`, "i");

export function withoutThoughts(answer: string): string {
  if (!MAY_HAVE_THOUGHTS.test(answer)) return answer;
  const splitter = makeThoughtSplitter();
  let text = "";
  for (const piece of [...splitter.push(answer), ...splitter.end(true)]) {
    if (piece.type === "text") text += piece.text;
    else if (piece.type === "retract") text = "";
  }
  return text;
}
