import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { pictureMark } from "../../turn/picture.ts";
import { TOO_DEEP } from "../http/parse-request.ts";
import { type GivenPicture, toGivenPicture } from "../turns/read-parts.ts";
import { responseFormatField, samplingFields } from "./sampling.ts";

/** Front ends send far less. */
const MAX_MESSAGES = 10_000;
const MAX_PARTS = 1_000;
const MAX_TOOLS = 1_000;
const MAX_QUOTED = 80;

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;

const ContentPart = z
  .looseObject(
    { type: z.string("must be a string"), text: z.string("must be a string").optional(), image_url: z.unknown().optional() },
    "must be a part like a text",
  )
  .refine(({ type, text }) => type !== "text" || text !== undefined, "has no text");

/** A part that is neither text nor picture keeps only its type. */
const CompletionMessage = z
  .looseObject(
    {
      role: z.enum(ROLES, `must be one of ${ROLES.join(", ")}`),
      content: z
        .union([z.string(), z.array(ContentPart).max(MAX_PARTS)], `must be a text or an array of at most ${MAX_PARTS} parts`)
        .nullish(),
      tool_call_id: z.string("must be a string").nullish(),
      tool_calls: z.array(z.looseObject({ id: z.string().nullish() }), "must be an array of calls").nullish(),
    },
    "must be an object with role and content",
  )
  .transform(({ role, content, tool_call_id, tool_calls }) => {
    const parts: z.infer<typeof ContentPart>[] =
      typeof content === "string" ? [{ type: "text", text: content, image_url: undefined }] : (content ?? []);
    return {
      role,
      text: parts.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join("\n"),
      ...(tool_call_id ? { tool_call_id } : {}),
      ...(tool_calls?.length ? { callIds: tool_calls.map(({ id }) => id ?? "") } : {}),
      images: parts.flatMap(({ type, image_url }, place) => (type === "image_url" ? [{ place, image_url }] : [])),
      otherParts: parts.map(({ type }) => type).filter((type) => type !== "text" && type !== "image_url"),
    };
  });
export type CompletionMessage = z.infer<typeof CompletionMessage>;

export const isSystem = ({ role }: Pick<CompletionMessage, "role">): boolean => role === "system" || role === "developer";

const onOff = z.boolean("must be true or false").nullish();
/** A client's JSON Schema. */
const anySchema = z.unknown().refine((schema) => !isTooDeep(schema), TOO_DEEP);
const named = z.looseObject({ name: z.string(), parameters: anySchema.optional() });

const allowedTools = z.looseObject({
  mode: z.enum(["auto", "required"], "must be auto or required"),
  tools: z.array(z.looseObject({ function: named.optional() }), "must be an array of tools"),
});

/** Other fields of OpenAI are ignored. */
export const CompletionBody = z.looseObject(
  {
    model: z.string({ error: ({ input }) => (input === undefined ? "is missing; GET /v1/models lists them" : "must be a string") }),
    messages: z
      .array(CompletionMessage, "must be an array of messages")
      .min(1, "is empty; send what the user said as its last message")
      .max(MAX_MESSAGES, `has more than ${MAX_MESSAGES} messages; send the last ones`),
    stream: onOff,
    stream_options: z.looseObject({ include_usage: onOff }, "must be an object").nullish(),
    user: z.string("must be a string").nullish(),
    safety_identifier: z.string("must be a string").nullish().describe("The user, where `user` is missing."),
    metadata: z.record(z.string(), z.unknown(), "must be an object").nullish(),
    n: z.literal(1, "must be 1: a conversation goes on with one answer").nullish(),
    modalities: z.array(z.literal("text", "must be text: answers are texts only"), "must be an array").nullish(),
    audio: z.null("is not known here: answers are texts only").optional(),
    tools: z
      .array(z.looseObject({ function: named.optional() }), "must be an array of tools")
      .max(MAX_TOOLS, `has more than ${MAX_TOOLS} tools; send fewer`)
      .nullish(),
    tool_choice: z
      .union(
        [z.string(), z.looseObject({ function: named.optional(), allowed_tools: allowedTools.optional() })],
        "must be a text or an object",
      )
      .nullish(),
    function_call: z.union([z.string(), named], "must be a text or an object").nullish(),
    ...samplingFields,
    response_format: responseFormatField,
  },
  "must be a JSON object with model and messages",
);
export type CompletionRequest = z.infer<typeof CompletionBody>;

export interface AskedTurn {
  /** The user's last message. Empty only beside pictures. */
  message: string;
  pictures: GivenPicture[];
  /** The answer to go on with, when it is the last message. */
  continues?: string;
  /** The field of the last message. */
  field: string;
}

/**
 * Reads the last message. Throws AppError `invalid_request` when it is neither the user's nor the assistant's after one of the user, has
 * other parts than text and pictures, or wants calls of tools.
 */
export function readAsked({ messages, function_call, response_format }: CompletionRequest): AskedTurn {
  const refuse = (field: string, problem: string): never => {
    throw AppError.invalid([{ field, problem }]);
  };
  if (function_call && function_call !== "auto" && function_call !== "none")
    refuse("function_call", "must be auto or none; send tools and tool_choice instead");
  const place = `messages.${messages.length - 1}`;
  const field = `${place}.content`;
  const last = messages.at(-1);
  if (last?.role !== "user" && last?.role !== "assistant")
    return refuse(`${place}.role`, `is ${last?.role}; the last message must be the user's, or the answer to go on with`);
  const types = [...new Set(last.otherParts)].join(", ").slice(0, MAX_QUOTED);
  if (types) refuse(field, `has parts of type ${types}; only text and image_url are read here, remove them`);
  if (last.callIds)
    refuse(`${place}.tool_calls`, `wait for results: send a message of role tool behind it for each call (${last.callIds.join(", ")})`);
  const hasWords = last.text.trim() !== "";
  if (!hasWords && (last.role !== "user" || last.images.length === 0)) refuse(field, "is blank; send what the user said");
  if (last.role === "user") {
    const pictures = last.images.map(({ place: part, image_url }) => toGivenPicture(`${field}.${part}.image_url`, image_url));
    return { message: hasWords ? last.text : "", pictures, field };
  }
  if ((response_format?.type ?? "text") !== "text")
    refuse("response_format", "is of no use for an answer that is gone on with; leave it out");
  const asked = messages.findLast(({ role, text, images }) => role === "user" && (text.trim() !== "" || images.length > 0));
  if (!asked) return refuse("messages", "has an answer to go on with, and nothing of the user before it; send the user's message, too");
  return { message: asked.text.trim() === "" ? pictureMark(asked.images.length) : asked.text, pictures: [], continues: last.text, field };
}

/** An answer as JSON: its text, or the arguments of a tool that must be called. */
export interface StructuredAnswer {
  schema: unknown;
  properties: string[];
  tool: string | null;
}

const WithProperties = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

function structured(schema: unknown, tool: string | null): StructuredAnswer {
  const known = WithProperties.safeParse(schema);
  return { schema, properties: known.success ? Object.keys(known.data.properties) : [], tool };
}

/** Null when any text will do. */
export function wantedStructure({ response_format, tools, tool_choice }: CompletionRequest): StructuredAnswer | null {
  if (response_format?.type === "json_schema") return structured(response_format.json_schema.schema, null);
  const isForced = tool_choice === "required" || (typeof tool_choice === "object" && tool_choice !== null);
  const wanted = typeof tool_choice === "object" ? tool_choice?.function?.name : undefined;
  const tool = tools?.find(({ function: candidate }) => candidate && (wanted === undefined || candidate.name === wanted))?.function;
  return isForced && tool ? structured(tool.parameters, tool.name) : null;
}
