import type { Request, Response } from "express";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import { isAnsweredBy, type Question, STEP_ANSWERS } from "../../turn/question.ts";
import { callerOf, tenantOf } from "../auth/caller.ts";
import type { Config } from "../settings/config.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Turns } from "../turns/open-turn.ts";
import { parseRequest, storableText } from "../http/parse-request.ts";
import type { Reply } from "../../agents/questions/answer.ts";
import { assertKnown } from "../turns/chat-request.ts";
import { parseChatRequest } from "../turns/chat-request.ts";
import { localSource, type TurnSource } from "../turns/turn-source.ts";
import { ONCE } from "../../turn/outcome.ts";
import { isNothing, makeAskInThread, newQuestion } from "./ask-in-thread.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { Assistants } from "./assistants.ts";
import { framesOf, keepFrames, makeRunFrames, type RunFrames } from "./run-frames.ts";
import {
  assertOffered,
  checkpointOf,
  contextOf,
  messageOf,
  modesOf,
  notOffered,
  otherModesOf,
  type RunBody,
  stopsOf,
} from "./run-request.ts";
import { conversationOf, noSuchThread, type Threads, userOfRequest } from "./threads.ts";

/** A run that has begun, or was found by its key. */
export interface OpenedRun {
  runId: string;
  threadId: string | null;
  source: TurnSource;
  /** Null: another process, or another request with the same key, has begun it. */
  frames: RunFrames | null;
}

const STRATEGIES = { reject: "cancel_waiting", enqueue: "enqueue", interrupt: "interrupt", rollback: "interrupt" } as const;

/** Reads what resumes a run: a label, several, own words, or our API's `{answer, text, results}`, also by the interrupt's id. */
function toReply(question: Pick<Question, "id" | "type" | "options">, resume: unknown): Reply {
  const { id, type, options } = question;
  if (typeof resume === "object" && resume !== null && !Array.isArray(resume)) {
    const byId = resume as Record<string, unknown>;
    if (id in byId) return toReply(question, byId[id]);
    const { answer, text, results } = resume as { answer?: unknown; text?: unknown; results?: unknown };
    if (results !== undefined) return parseRequest(CallResults, { results });
    return { ...(answer === undefined ? {} : toReply(question, answer)), ...(typeof text === "string" ? { text } : {}) };
  }
  const labels = options.map(({ label }) => label);
  if (typeof resume === "boolean" && type === "permission") return { answer: resume ? "allow_once" : "deny" };
  if (Array.isArray(resume) && resume.every((one) => typeof one === "string")) return { answer: resume };
  if (typeof resume === "string") return labels.includes(resume) || type === "permission" ? { answer: resume } : { text: resume };
  const problem = `must be one of ${labels.join(", ")}, words of the person, or {"answer", "text"}`;
  throw AppError.invalid([{ field: "command.resume", problem }]);
}

const CallResults = z.object({ results: z.array(z.object({ call_id: storableText, output: storableText })).max(1_000) });

const NEXT_STEP: (typeof STEP_ANSWERS)[number] = "step";

interface OpenRunParts {
  config: Config;
  stores: Pick<Stores, "knowledgeBases" | "messages" | "pictures" | "questions" | "steps" | "turns">;
  agents: Agents;
  turns: Turns;
  threads: Threads;
  assistants: Assistants;
  checkpoints: Checkpoints;
}

/** Begins runs. The functions throw AppError as `Turns.open` and answering a question do. */
export function makeOpenRun({ config, stores, agents, turns, threads, assistants, checkpoints }: OpenRunParts) {
  const { askIn, messagesBefore } = makeAskInThread({ config, stores, checkpoints });

  function foundFrames(turnId: string): RunFrames | null {
    return framesOf(turns.registry.find(turnId)?.turn);
  }

  /** `answer` undefined: the run only goes on with the next step. */
  async function resume(response: Response, thread: StoredThread, body: RunBody, answer: unknown): Promise<OpenedRun> {
    const waiting = await stores.questions.waitingIn({ tenantId: tenantOf(response), ...thread });
    if (answer === undefined) {
      if (!waiting) messageOf(body.input);
      else if (!isAnsweredBy(waiting.question, STEP_ANSWERS))
        throw AppError.invalid([{ field: "command.resume", problem: "is missing; the thread waits for the answer to a question" }]);
    }
    if (!waiting) throw AppError.invalid([{ field: "command.resume", problem: "the thread waits for nothing; send an input" }]);
    const earlier = await messagesBefore(response, thread);
    const frames = keepFrames(
      makeRunFrames({
        threadId: thread.id,
        modes: modesOf(body),
        leftOut: otherModesOf(body),
        subgraphs: body.stream_subgraphs === true,
        earlier: earlier.slice(0, -1).flat(),
        said: earlier.at(-1)?.[0] ?? null,
        done: earlier.at(-1)?.slice(1) ?? [],
        asked: waiting.question.tool,
      }),
    );
    const reply = toReply(waiting.question, answer ?? NEXT_STEP);
    const { turn } = await turns.answer(callerOf(response), waiting.turnId, waiting.question.id, reply, frames.watch);
    turns.registry.attach(turn.turnId, response, { cancels: body.on_disconnect === "cancel" });
    return { runId: turn.turnId, threadId: thread.id, source: localSource(turn, false), frames };
  }

  /** `thread` null: a run without a thread, which by default leaves nothing. */
  async function begin(request: Request, response: Response, thread: StoredThread | null, body: RunBody): Promise<OpenedRun> {
    const tenantId = tenantOf(response);
    const given = contextOf(body);
    const asking = thread ? await askIn(response, thread, body) : { ...newQuestion(body.input, config.MAX_PICTURES), earlier: [] };
    const { said, pictures, earlier, fields } = asking;
    const agent = await assistants.agentOf(tenantId, body.assistant_id);
    const modes = modesOf(body);
    const stopsBefore = stopsOf(body);
    const interactive = thread !== null && given.interactive !== false;
    if (stopsBefore.length > 0 && !interactive)
      throw AppError.invalid([
        { field: "interrupt_before", problem: "needs a thread, and somebody who can be asked: leave out interactive" },
      ]);
    const chat = parseChatRequest(
      {
        user_id: thread?.userId ?? userOfRequest(request, response, given.user_id),
        session_id: thread?.sessionId ?? `${ONCE}${uuidv7()}`,
        ...fields,
        agent,
        model: given.model ?? null,
        kb_prefix: given.kb_prefix ?? null,
        ...(given.instructions ? { instructions: given.instructions } : {}),
        debug: given.debug ?? false,
        remember: thread !== null,
        interactive,
        execution: stopsBefore.length > 0 ? "stepping" : "normal",
        on_busy: STRATEGIES[body.multitask_strategy ?? "reject"],
        on_disconnect: body.on_disconnect ?? "continue",
      },
      config.MAX_MESSAGE_CHARS,
      pictures.length > 0,
    );
    await assertKnown({ stores, agents }, tenantId, chat);
    const frames = keepFrames(
      makeRunFrames({
        threadId: thread?.id ?? null,
        modes,
        leftOut: otherModesOf(body),
        subgraphs: body.stream_subgraphs === true,
        earlier,
        said,
        pictures,
      }),
    );
    const asked = {
      assistant_id: body.assistant_id,
      metadata: body.metadata ?? {},
      multitask_strategy: body.multitask_strategy ?? "reject",
    };
    const isKept = thread !== null || body.on_completion === "keep";
    const beside = {
      asked: { langgraph: asked },
      ...(pictures.length > 0 ? { pictures } : {}),
      ...(isKept ? {} : { store: false }),
      ...(stopsBefore.length > 0 ? { stopsBefore } : {}),
    };
    const source = await turns.open(request, response, chat, beside, { watch: frames.watch });
    return { runId: source.turnId, threadId: thread?.id ?? null, source, frames: foundFrames(source.turnId) };
  }

  return {
    begin,
    foundFrames,
    async ofThread(request: Request, response: Response, threadId: string, body: RunBody): Promise<OpenedRun> {
      assertOffered(body);
      const found = await threads.find(callerOf(response), threadId);
      if (!found && body.if_not_exists !== "create") throw noSuchThread(threadId);
      const { command } = body;
      if (found && command && "resume" in command && command.resume !== undefined) return resume(response, found, body, command.resume);
      if (found && !command && isNothing(body.input)) {
        const checkpointId = checkpointOf(body);
        const isBefore = async (id: string): Promise<boolean> =>
          found.status !== "interrupted" || checkpoints.isBefore(conversationOf(response, found), id);
        if (checkpointId === null || !(await isBefore(checkpointId))) return resume(response, found, body, undefined);
      }
      const owner = { tenantId: tenantOf(response), userId: found?.userId ?? userOfRequest(request, response, contextOf(body).user_id) };
      if (!found) newQuestion(body.input, config.MAX_PICTURES); // refused before a thread is made for it
      const thread = found ?? (await threads.create(owner, threadId));
      return begin(request, response, thread, body);
    },
    async withoutThread(request: Request, response: Response, body: RunBody): Promise<OpenedRun> {
      assertOffered(body);
      if (body.command) throw notOffered("command", "a run without a thread waits for nothing; send an input");
      return begin(request, response, null, body);
    },
  };
}
