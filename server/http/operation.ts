import { Router, type RequestHandler } from "express";
import type { ParamsDictionary } from "express-serve-static-core";
import { z } from "zod";
import type { ErrorCode } from "../../errors/error-codes.ts";
import type { AnswerHeader, RequestHeader } from "./headers.ts";

/** In the page's order. */
export const TAGS = {
  turns: "One user message and the assistant's answer to it.",
  conversations: "What was said, and what was imported.",
  memory: "What is remembered of a user: earlier exchanges, core memory, what was done to it and why.",
  agents: "Who answers, with which tools, and what a turn did on the way.",
  knowledge: "Documents that turns can be routed to.",
  "OpenAI's protocol": "For front ends that speak it already.",
  "LangGraph's protocol": "For Studio, RemoteGraph and LangGraph's clients: a thread is a conversation, a run is a turn.",
  MCP: "For editors, desktop assistants and agents that speak the Model Context Protocol.",
  service: "Health, metrics, background jobs, this description.",
} as const;
type Tag = keyof typeof TAGS;

/** Bodies by media type. */
export type Content = Readonly<Record<string, z.ZodType>>;

export interface Answer {
  what: string;
  content: Content;
  headers?: readonly AnswerHeader[];
}

export interface Contract {
  details?: string;
  /** Missing ids are UUIDs. */
  params?: Readonly<Record<string, z.ZodType>>;
  query?: z.ZodObject;
  headers?: readonly RequestHeader[];
  body?: Content;
  bodyIsOptional?: boolean;
  /** The JSON of a 200; else `answers`, by status. */
  answer?: z.ZodType;
  answers?: Readonly<Record<number, Answer>>;
  /** In addition to the errors of every operation and every body. */
  errors?: readonly ErrorCode[];
  /** Needs no key, and has no limits. */
  isOpen?: boolean;
}

export interface Route extends Contract {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** As Express writes it: /api/v1/users/:id */
  path: `/${string}`;
  summary: string;
}

export interface Operation extends Omit<Route, "answer" | "answers"> {
  id: string;
  tag: Tag;
  answers: Readonly<Record<number, Answer>>;
}

/** `schemas`: those that clients know by name. */
export interface OperationGroup<Routes = Readonly<Record<string, Route>>> {
  tag: Tag;
  schemas?: Readonly<Record<string, z.ZodType>>;
  routes: Routes;
}

/** A value before JSON: a time may be a Date. */
export type Sent<Value> = Value extends string
  ? string extends Value
    ? string | Date
    : Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Sent<Value[Key]> }
    : Value;

type JsonOf<Given> = Given extends { content: { "application/json": infer Schema extends z.ZodType } } ? z.output<Schema> : never;
type AnswerOf<Given> = Given extends { answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : Given extends { answers: infer Answers }
    ? JsonOf<Answers[keyof Answers]>
    : never;
/** A handler must send the described answer. */
type Handler<Given> = RequestHandler<ParamsDictionary, [AnswerOf<Given>] extends [never] ? unknown : Sent<AnswerOf<Given>>>;
type Handlers<Routes> = { [Id in keyof Routes]: Handler<Routes[Id]> | readonly [...RequestHandler[], Handler<Routes[Id]>] };

/** For example `route("GET /api/v1/status", "How the service fares", { answer: Status })`. */
export function route<const Given extends Contract>(
  at: `${Uppercase<Route["method"]>} ${Route["path"]}`,
  summary: string,
  given: Given,
): Route & Given {
  const [method, path] = at.split(" ") as [string, Route["path"]];
  return { ...given, method: method.toLowerCase() as Route["method"], path, summary };
}

export const operationGroup = <Routes extends Readonly<Record<string, Route>>>(group: OperationGroup<Routes>): OperationGroup<Routes> =>
  group;

/** A handler may be a list. */
export function makeRouter<Routes extends Readonly<Record<string, Route>>>(
  { routes }: OperationGroup<Routes>,
  handlers: Handlers<Routes>,
): Router {
  const router = Router();
  for (const [id, { method, path }] of Object.entries(routes)) router[method](path, ...([handlers[id]].flat() as RequestHandler[]));
  return router;
}

const BODY_ERRORS = ["body_too_large", "unsupported_media_type"] as const satisfies readonly ErrorCode[];

export function listOperations({ tag, routes }: OperationGroup): Operation[] {
  return Object.entries(routes).map(([id, { answer, answers, errors = [], ...rest }]) => ({
    id,
    tag,
    ...rest,
    answers: { ...(answer ? { 200: jsonAnswer(answer) } : {}), ...answers },
    errors: [...(rest.body ? BODY_ERRORS : []), ...errors],
  }));
}

export const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({ "application/json": schema });

export const jsonAnswer = <Schema extends z.ZodType>(schema: Schema, what = "OK", headers: readonly AnswerHeader[] = []) => {
  return { what, content: jsonBody(schema), headers };
};

/** Bytes, to JSON Schema. */
export const file = z.string().meta({ format: "binary" });

export const time = z.iso.datetime();
export const next = z.string().nullable().describe("Send it as `after` to get the page behind this one; null on the last.");
