import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { callerId, givenMetadata, instructionsText, storableText, TOO_DEEP } from "../http/parse-request.ts";
import { StepKind } from "../../turn/state.ts";
import { lastHuman } from "./studio-input.ts";
import { chatMessage } from "../turns/chat-request.ts";
import { type GivenPicture, toGivenPicture } from "../turns/read-parts.ts";
import { isServedMode, STREAM_MODES, type StreamMode } from "./run-frames.ts";

/** An error whose field names the alternative. */
export function notOffered(field: string, problem: string): AppError {
  return new AppError("not_offered", `${field}: ${problem}`, { details: [{ field, problem }] });
}

const streamMode = z.string("must be the name of a mode, or several").max(80, "is no name of a mode");

/** What a turn takes from a run's `config.configurable` or `context`. Clients also put other things there. */
export const RunContext = z
  .looseObject({
    user_id: callerId.nullish().describe("Whose memory is used, unless the token or the thread says."),
    kb_prefix: storableText.nullish(),
    model: storableText.nullish(),
    instructions: instructionsText.nullish(),
    debug: z.boolean("must be true or false").nullish(),
    interactive: z.boolean("must be true or false").nullish().describe("`false`: nobody is asked, and nothing interrupts the run."),
  })
  .describe("What a turn takes; other fields are ignored.");
export type RunContext = z.infer<typeof RunContext>;

const anything = z.unknown().refine((value) => !isTooDeep(value), TOO_DEEP);
const nodes = z
  .union([z.literal("*"), z.array(storableText)], 'must be "*" or names of nodes')
  .describe("Nodes of the graph, or `*`: the run waits there for `command: {resume}`, or for a run without input.");

export const CheckpointBody = z.looseObject({ checkpoint_id: z.uuid("must be the id of a checkpoint").nullish() });

export const RunBody = z.looseObject(
  {
    assistant_id: storableText.describe("The id or the name of an assistant, or `conversation`, which routes the turn."),
    input: z
      .looseObject({ messages: anything.optional() }, "must be an object with messages")
      .nullish()
      .describe('`{"messages": […]}`, the last one of the human; null with a `command`.'),
    command: z.looseObject({ resume: anything.optional() }).nullish().describe("`resume`: the answer to what the thread waits for."),
    checkpoint: CheckpointBody.nullish().describe(
      "Where the thread goes on, on a new branch unless it is the newest one. Without an input the question that came next is answered again.",
    ),
    checkpoint_id: z.uuid("must be the id of a checkpoint").nullish(),
    config: z.looseObject({ configurable: RunContext.nullish() }).nullish(),
    context: RunContext.nullish(),
    metadata: givenMetadata.nullish(),
    stream_mode: z
      .union([streamMode, z.array(streamMode).max(20)])
      .nullish()
      .describe(`Of ${STREAM_MODES.join(", ")}. Default: values. Others are left out, and a notice in the stream says so.`),
    stream_subgraphs: z.boolean("must be true or false").nullish(),
    interrupt_before: nodes.nullish(),
    interrupt_after: nodes.nullish(),
    multitask_strategy: z
      .enum(["reject", "enqueue", "interrupt", "rollback"], "must be reject, enqueue, interrupt or rollback")
      .nullish()
      .describe("While another run holds the thread: 409 (the default), wait in line, stop that one, or stop it and take it off the path."),
    if_not_exists: z.enum(["create", "reject"], "must be create or reject").nullish(),
    on_disconnect: z.enum(["cancel", "continue"], "must be cancel or continue").nullish(),
    on_completion: z.enum(["delete", "keep"], "must be delete or keep").nullish().describe("Of a run without a thread. Default: delete."),
    after_seconds: z.number().nullish(),
    webhook: z.string().nullish(),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with assistant_id and input" : undefined) },
);
export type RunBody = z.infer<typeof RunBody>;

export function modesOf({ stream_mode: given }: Pick<RunBody, "stream_mode">): StreamMode[] {
  const asked = [given ?? []].flat().filter(isServedMode);
  return asked.length === 0 ? ["values"] : asked;
}

export const otherModesOf = ({ stream_mode: given }: Pick<RunBody, "stream_mode">): string[] =>
  [given ?? []].flat().filter((mode) => !isServedMode(mode));

const EVERY_STEP = StepKind.options;

/**
 * The steps before which a turn can wait, by the nodes around them. Nodes before the answer only read, and run again when a turn goes on.
 */
const STOPS: Readonly<Record<string, { before?: readonly StepKind[]; after?: readonly StepKind[] }>> = {
  "*": { before: EVERY_STEP, after: EVERY_STEP },
  retrieve: { after: ["first_model"] },
  generate: { before: ["first_model"] },
  generate_rag: { before: ["first_model"] }, // its name in version 0.1
  generate_kb: { before: ["first_model"] },
  generate_agent: { before: ["first_model"] },
  model: { before: ["first_model", "next_model"], after: ["tool"] },
  tools: { before: ["tool"], after: ["next_model"] },
};

/** Before which steps the run waits; empty: it does not step. Throws AppError `not_offered` for nodes at which no turn can wait. */
export function stopsOf({
  interrupt_before: before,
  interrupt_after: after,
}: Pick<RunBody, "interrupt_before" | "interrupt_after">): StepKind[] {
  const given = { before, after };
  const stops = (["before", "after"] as const).flatMap((side) => {
    return [given[side] ?? []].flat().flatMap((node) => {
      const found = STOPS[node.replace(/^generate_agent:/, "")]?.[side];
      if (found) return found;
      const names = Object.entries(STOPS).flatMap(([name, stop]) => (stop[side] ? [name] : []));
      throw notOffered(`interrupt_${side}`, `no turn can wait ${side} "${node.slice(0, 80)}"; one can ${side} ${names.join(", ")}`);
    });
  });
  return [...new Set(stops)];
}

/** Throws AppError `not_offered` for what only other servers of this protocol do. */
export function assertOffered(body: RunBody): void {
  const { command, after_seconds: delay, webhook } = body;
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
  if (command && (isGiven(command["goto"]) || isGiven(command["update"])))
    throw notOffered("command", "the graph of a turn takes no goto and no update; send resume, or an input");
  if (delay) throw notOffered("after_seconds", "runs begin at once; send the request later");
  if (webhook) throw notOffered("webhook", "no address is called at the end of a run; read its stream, or join it");
  stopsOf(body);
}

export const checkpointOf = ({ checkpoint, checkpoint_id: id }: Pick<RunBody, "checkpoint" | "checkpoint_id">): string | null =>
  id ?? checkpoint?.checkpoint_id ?? null;

/** Merges `config.configurable` and `context`; the latter wins. */
export const contextOf = ({ config, context }: Pick<RunBody, "config" | "context">): RunContext => ({
  ...config?.configurable,
  ...context,
});

const Input = z.looseObject({ messages: z.union([z.array(anything), z.looseObject({}), z.string()]).optional() });

/** LangChain's parts: `image_url` is OpenAI's, `image` its own, with an address or base64. */
const PARTS = ["text", "image_url", "image"] as const;

/** What the user says in a run's input. */
export interface SaidInput {
  id: string | undefined;
  text: string;
  pictures: GivenPicture[];
}

function toPictures({ content }: BaseMessage): GivenPicture[] {
  if (typeof content === "string") return [];
  return content.flatMap((part: Record<string, unknown>, place) => {
    const { type, image_url: image, url, data, mimeType, mime_type: mediaType = mimeType ?? "image/png" } = part;
    if (type === "text") return [];
    const address =
      type === "image_url" ? image : (url ?? (typeof data === "string" ? `data:${String(mediaType)};base64,${data}` : undefined));
    return [toGivenPicture(`input.messages.content.${place}`, address)];
  });
}

/** LangChain takes any content, and fails when it reads it. */
function readHuman(messages: unknown, problem: string): SaidInput | null {
  try {
    const human = lastHuman(messages, PARTS);
    if (!human) return null;
    return { id: typeof human.id === "string" ? human.id : undefined, text: human.text, pictures: toPictures(human) };
  } catch (error) {
    throw error instanceof AppError
      ? error
      : new AppError("invalid_request", `input: ${problem}`, { details: [{ field: "input", problem }], cause: error });
  }
}

/** The user's message. Beside pictures it needs no words. Throws AppError `invalid_request`. */
export function messageOf(input: unknown): SaidInput {
  const parsed = Input.safeParse(input);
  const problem = 'must be {"messages": […]} with a message of the human, the last one of which is answered';
  const human = parsed.success && parsed.data.messages !== undefined ? readHuman(parsed.data.messages, problem) : null;
  if (!human) throw AppError.invalid([{ field: "input", problem }]);
  if (human.pictures.length > 0 && human.text.trim() === "") return { ...human, text: "" };
  const text = chatMessage.safeParse(human.text);
  if (!text.success) throw AppError.invalid([{ field: "input.messages", problem: text.error.issues[0]?.message ?? problem }]);
  return { ...human, text: text.data };
}
