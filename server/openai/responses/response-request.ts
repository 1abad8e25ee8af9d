import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { isTooDeep } from "../../../text/nesting.ts";
import { parseRequest, TOO_DEEP } from "../../http/parse-request.ts";
import { CompletionBody, type CompletionRequest } from "../completion-request.ts";
import { type Echo, KeptEcho } from "./response-object.ts";

const MAX_ITEMS = 10_000;
const MAX_PARTS = 1_000;

const text = z.string("must be a string");
const orNull = <Field extends z.ZodType>(field: Field) => field.nullish();

const Part = z.looseObject({ type: text, text: text.optional() }, "must be a part like an input_text");
const Content = z.union([z.string(), z.array(Part).max(MAX_PARTS)], `must be a text or an array of at most ${MAX_PARTS} parts`);

/** An item of unknown kind keeps only its type. */
const InputItem = z.looseObject(
  {
    type: text.nullish(),
    id: z.string().nullish(),
    role: z.string().nullish(),
    content: Content.nullish(),
    call_id: text.nullish(),
    name: text.nullish(),
    arguments: text.nullish(),
    output: Content.nullish(),
  },
  "must be an item like a message",
);
type InputItem = z.infer<typeof InputItem>;

const Format = z.looseObject({ type: text }).refine((format) => !isTooDeep(format), TOO_DEEP);
const OneTool = z.looseObject({ type: text, name: text.optional() }, "must be a tool");
const Tool = OneTool.extend({ tools: z.array(OneTool).optional() }).refine((tool) => !isTooDeep(tool), TOO_DEEP);

/** Other fields of OpenAI are ignored. */
export const ResponseBody = z.looseObject(
  {
    model: text.nullish().describe("Default: `conversation-graph`."),
    input: z.union(
      [z.string(), z.array(InputItem).min(1, "is empty; send what the user said").max(MAX_ITEMS, `has more than ${MAX_ITEMS} items`)],
      "must be a text or an array of items",
    ),
    instructions: orNull(z.string("must be a text")).describe("For this response alone."),
    previous_response_id: orNull(text).describe(
      "The response behind which its conversation goes on; on a new branch, unless it is the last one.",
    ),
    conversation: orNull(z.union([text, z.looseObject({ id: text })], "must be the id of a conversation")),
    store: orNull(z.boolean("must be true or false")).describe("`false`: no message and no memory is left of it."),
    background: orNull(z.boolean("must be true or false")).describe("Answer at once, and read the response by its id later."),
    stream: orNull(z.boolean("must be true or false")),
    metadata: orNull(z.record(z.string(), z.unknown(), "must be an object").refine((value) => !isTooDeep(value), TOO_DEEP)),
    user: orNull(text),
    safety_identifier: orNull(text),
    temperature: orNull(z.number("must be a number")),
    top_p: orNull(z.number("must be a number")),
    max_output_tokens: orNull(z.int("must be a whole number")),
    parallel_tool_calls: orNull(z.boolean("must be true or false")),
    reasoning: orNull(z.looseObject({ effort: orNull(text), summary: orNull(text) }, "must be an object")),
    text: orNull(z.looseObject({ format: orNull(Format) }, "must be an object")),
    tools: orNull(z.array(Tool, "must be an array of tools")),
    tool_choice: orNull(z.union([z.string(), z.looseObject({ type: text })], "must be a text or an object")),
    prompt: z.null("is not known here: send instructions and input").optional(),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with input" : undefined) },
);
export type ResponseBody = z.infer<typeof ResponseBody>;

const TEXT_PARTS = ["input_text", "output_text", "text", "summary_text"];

function toPart(part: z.infer<typeof Part>): object {
  if (TEXT_PARTS.includes(part.type)) return { type: "text", text: part.text ?? "" };
  const { image_url: url, detail } = part;
  return part.type === "input_image" && typeof url === "string"
    ? { type: "image_url", image_url: { url, ...(detail ? { detail } : {}) } }
    : part;
}

const toContent = (content: InputItem["content"]): unknown => (Array.isArray(content) ? content.map(toPart) : content);

interface Placed {
  message: { role: string; content: unknown; tool_calls?: object[]; tool_call_id?: string };
  place: string;
}

const toCall = ({ call_id: id, name, arguments: given }: InputItem) => ({
  id: id ?? "",
  type: "function",
  function: { name: name ?? "", arguments: given ?? "" },
});

/** Null for what only repeats the service's own history. */
function toMessage(item: InputItem, place: string): Placed | null {
  const { type, role } = item;
  if (type === "function_call") return { place, message: { role: "assistant", content: null, tool_calls: [toCall(item)] } };
  if (type === "function_call_output")
    return { place, message: { role: "tool", tool_call_id: item.call_id ?? "", content: toContent(item.output) ?? "" } };
  if (role || type === "message") return { place, message: { role: role ?? "", content: toContent(item.content) } };
  return null;
}

/** Joins the new messages after a response, or in a conversation, into one of the user. */
function joinLast(messages: readonly Placed[]): Placed[] {
  const parts = ({ content }: Placed["message"]): unknown[] => (Array.isArray(content) ? content : [{ type: "text", text: content }]);
  return messages.reduce<Placed[]>((before, placed) => {
    const last = before.at(-1);
    if (last?.message.role !== "user" || placed.message.role !== "user") return [...before, placed];
    const content = [...parts(last.message), ...parts(placed.message)];
    return [...before.slice(0, -1), { ...placed, message: { ...placed.message, content } }];
  }, []);
}

/** Consecutive calls belong to one answer. */
function joinCalls(messages: readonly Placed[]): Placed[] {
  return messages.reduce<Placed[]>((before, placed) => {
    const last = before.at(-1);
    const { tool_calls: calls } = last?.message ?? {};
    const { tool_calls: more } = placed.message;
    if (!last || !calls || !more) return [...before, placed];
    return [...before.slice(0, -1), { ...last, message: { ...last.message, tool_calls: [...calls, ...more] } }];
  }, []);
}

/** The namespace of a function, and its own name in there. */
export type Namespaces = ReadonlyMap<string, { namespace: string; name: string }>;

/** A model knows functions by one name, made of namespace and name. A tool that is no function keeps only its type. */
function toTools(tools: ResponseBody["tools"], namespaces: Map<string, { namespace: string; name: string }>): unknown[] | undefined {
  return tools?.flatMap(({ type, tools: inside, ...tool }) => {
    if (type !== "namespace") return [type === "function" ? { type, function: tool } : { type }];
    const namespace = tool.name ?? "";
    return (inside ?? []).map(({ type: kind, ...one }) => {
      if (kind !== "function") return { type: kind };
      const name = `${namespace}${namespace.endsWith("_") ? "" : "__"}${one.name ?? ""}`;
      namespaces.set(name, { namespace, name: one.name ?? "" });
      return { type: kind, function: { ...one, name } };
    });
  });
}

function toToolChoice(choice: ResponseBody["tool_choice"]): unknown {
  if (typeof choice !== "object" || choice?.type !== "function") return choice;
  const { type, name } = choice;
  return { type, function: { name } };
}

function toResponseFormat(format: NonNullable<ResponseBody["text"]>["format"]): unknown {
  if (format?.type !== "json_schema") return format;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}

const RENAMED: Readonly<Record<string, string>> = {
  max_completion_tokens: "max_output_tokens",
  reasoning_effort: "reasoning.effort",
  response_format: "text.format",
};

export interface GivenResponse {
  completion: CompletionRequest;
  /** By the names that the model knows. */
  namespaces: Namespaces;
  /** Runs a step, and names the fields of its errors as in this request. */
  inItsWords: <Result>(step: () => Promise<Result> | Result) => Promise<Result>;
  /** The place in the request of a completion's field. */
  fieldOf: (field: string) => string;
}

/** Translates a request for a response into one for a completion. Throws AppError `invalid_request`. */
export async function toCompletion(body: ResponseBody, defaultModel: string): Promise<GivenResponse> {
  const { input, instructions, text: form } = body;
  const given: InputItem[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const placeOf = (index: number): string => (typeof input === "string" ? "input" : `input.${index}`);
  const items = joinCalls(given.map((item, index) => toMessage(item, placeOf(index))).filter((placed) => placed !== null));
  const goesOn = Boolean(body.previous_response_id ?? body.conversation);
  const told: Placed[] = instructions ? [{ place: "instructions", message: { role: "system", content: instructions } }] : [];
  const placed = [...told, ...(goesOn ? joinLast(items) : items)];

  const fieldOf = (field: string): string => {
    const [name = "", index, ...rest] = field.split(".");
    if (name !== "messages") return field.replace("response_format.json_schema", "text.format").replace(name, RENAMED[name] ?? name);
    const place = index === undefined ? undefined : placed[Number(index)]?.place;
    return place === undefined || typeof input === "string" ? "input" : [place, ...rest].join(".");
  };
  async function inItsWords<Result>(step: () => Promise<Result> | Result): Promise<Result> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof AppError) || !error.details) throw error;
      const details = error.details.map((detail) => ({ ...detail, field: fieldOf(detail.field) }));
      throw new AppError(error.code, details.map(({ field, problem }) => `${field}: ${problem}`).join("; "), { details, cause: error });
    }
  }

  const namespaces = new Map<string, { namespace: string; name: string }>();
  const completion = await inItsWords(() => {
    const last = placed.at(-1);
    if (last?.message.role === "assistant" || !last || last.place === "instructions")
      throw AppError.invalid([
        { field: "input", problem: "has nothing new of the user at its end; send what the user says as its last item" },
      ]);
    return parseRequest(CompletionBody, {
      model: body.model ?? defaultModel,
      messages: placed.map(({ message }) => message),
      stream: body.stream,
      user: body.user,
      safety_identifier: body.safety_identifier,
      metadata: body.metadata,
      temperature: body.temperature,
      top_p: body.top_p,
      max_completion_tokens: body.max_output_tokens,
      reasoning_effort: body.reasoning?.effort,
      parallel_tool_calls: body.parallel_tool_calls,
      response_format: toResponseFormat(form?.format),
      tools: toTools(body.tools, namespaces),
      tool_choice: toToolChoice(body.tool_choice),
    });
  });
  return { completion, namespaces, inItsWords, fieldOf };
}

/** What a response repeats of its request. */
export function toEcho(body: ResponseBody, model: string, conversation: string | null): Echo {
  return {
    model,
    background: body.background === true,
    conversation: conversation === null ? null : { id: conversation },
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    store: body.store ?? true,
    temperature: body.temperature ?? null,
    text: { format: body.text?.format ?? { type: "text" } },
    top_p: body.top_p ?? null,
    user: body.user ?? null,
    instructions: body.instructions ?? null,
    tools: body.tools ?? [],
    tool_choice: body.tool_choice ?? "auto",
  };
}

/** The kept part: neither instructions nor tools. */
export const toKept = (echo: Echo): KeptEcho => KeptEcho.parse(echo);
