/** A call that a model asks for. */
export interface WantedCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
}

/** What a model says, whatever the dialect of its server. */
export interface Reply {
  text: string;
  thoughts: string;
  calls: readonly WantedCall[];
}

/** Cuts a text into the pieces that come in frames of their own. */
export type Cut = (text: string) => string[];
export type Frame = Record<string, unknown>;
/** A piece of a call in `tool_calls`. */
export type Piece = Record<string, unknown>;

/** As tokens of models are: some characters each. */
export const inPieces: Cut = (text) => text.match(/[\s\S]{1,7}/gu) ?? [];

export const USAGE = { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 };

export const without = (fields: Frame, ...names: string[]): Frame =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

export const envelope = (choices: unknown, more: Frame = {}): Frame => {
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_764_000_000, model: "m", choices, ...more };
};
/** A frame whose only choice has this delta; `more` stands beside the delta. */
export const chunk = (delta: unknown, more: Frame = {}): Frame => envelope([{ index: 0, delta, finish_reason: null, ...more }]);
export const saying = (content: unknown): Frame => chunk({ content });
export const calling = (...pieces: Piece[]): Frame => chunk({ tool_calls: pieces });
export const usageFrame = (usage: unknown = USAGE): Frame => envelope([], { usage });
export const finishWord = ({ calls }: Reply): string => (calls.length > 0 ? "tool_calls" : "stop");
export const finished = (word: unknown, delta: unknown = {}): Frame => chunk(delta, { finish_reason: word });

/** The same ids in every run: what is read is recorded. */
export const idOf = (index: number): string => `call_${"abcdefgh"[index] ?? "z"}1`;
export const argumentsOf = (call: WantedCall): string => JSON.stringify(call.arguments);

/** Each call in one piece. */
export const wholePiece = (call: WantedCall, index: number): Piece => {
  return { index, id: idOf(index), type: "function", function: { name: call.name, arguments: argumentsOf(call) } };
};

/** OpenAI's way: name and id first, then the arguments piece by piece. */
export const openAiPieces = (call: WantedCall, index: number, cut: Cut): Piece[] => [
  { index, id: idOf(index), type: "function", function: { name: call.name, arguments: "" } },
  ...cut(argumentsOf(call)).map((given) => ({ index, function: { arguments: given } })),
];

export type Frames = (reply: Reply, cut: Cut) => Iterable<Frame>;

/** How a server says the parts of a reply. What is not given is said as OpenAI does. */
export interface Ways {
  opening?: (reply: Reply) => Frame[];
  /** Default: thoughts are not told. */
  thoughts?: (thoughts: string, cut: Cut) => Frame[];
  words?: (text: string, cut: Cut) => Frame[];
  /** The pieces of each call, one a frame. */
  pieces?: (call: WantedCall, index: number, cut: Cut) => Piece[];
  /** All calls. Default: the pieces of the first, then those of the second. */
  calls?: (calls: readonly WantedCall[], cut: Cut) => Frame[];
  ending?: (reply: Reply) => Frame[];
}

const OPENING = ({ calls }: Reply): Frame[] => [chunk({ role: "assistant", content: calls.length > 0 ? null : "" })];
const WORDS = (text: string, cut: Cut): Frame[] => cut(text).map(saying);
const ENDING = (reply: Reply): Frame[] => [finished(finishWord(reply)), usageFrame()];

export function speaking({ opening = OPENING, thoughts, words = WORDS, pieces = openAiPieces, calls, ending = ENDING }: Ways = {}): Frames {
  const allCalls =
    calls ?? ((asked, cut) => asked.flatMap((call, index) => pieces(call, index, cut).map((piece): Frame => calling(piece))));
  return (reply, cut) => [
    ...opening(reply),
    ...(thoughts?.(reply.thoughts, cut) ?? []),
    ...(reply.text === "" ? [] : words(reply.text, cut)),
    ...allCalls(reply.calls, cut),
    ...ending(reply),
  ];
}

type Choice = Frame & { delta?: Frame | null };

/** OpenAI's frames, each choice changed. */
export function withChoices(change: (choice: Choice, reply: Reply) => Frame, frames: Frames = speaking()): Frames {
  return (reply, cut) =>
    Array.from(frames(reply, cut), (frame) => {
      const [choice] = frame["choices"] as Choice[];
      return choice ? { ...frame, choices: [change(choice, reply)] } : frame;
    });
}

export const withDeltas = (change: (delta: Frame, reply: Reply) => Frame, frames?: Frames): Frames =>
  withChoices((choice, reply) => ({ ...choice, delta: change({ ...choice.delta }, reply) }), frames);

/** OpenAI's frames, each piece of a call changed. */
export const withPieces = (change: (piece: Piece) => Piece): Frames =>
  withDeltas((delta) => (delta["tool_calls"] ? { ...delta, tool_calls: (delta["tool_calls"] as Piece[]).map(change) } : delta));

/** The content is a text with the thoughts in it, whose tags the pieces cut as they like. */
export function inline(write: (thoughts: string) => string): Frames {
  const frames = speaking({ opening: () => [chunk({ role: "assistant", content: "" })] });
  return (reply, cut) => frames({ ...reply, text: write(reply.thoughts) + reply.text }, cut);
}

/** The whole message, as servers answer that do not stream. */
export function wholeMessage(reply: Reply): Frame {
  const calls = reply.calls.map((call, index) => without(wholePiece(call, index), "index"));
  return { role: "assistant", content: reply.text === "" ? null : reply.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}
