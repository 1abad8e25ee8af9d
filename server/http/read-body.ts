import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../errors/app-error.ts";
import { HALF_PAIR, MAX_PROBLEMS, MAX_VALUES } from "./parse-request.ts";

/** Requests whose bodies spell surrogates: `\ud83d`. */
const spellSurrogates = new WeakSet<IncomingMessage>();

/** Decoding would silently replace other bytes. */
function checkBytes(request: IncomingMessage, _response: ServerResponse, body: Buffer): void {
  if (!isUtf8(body)) throw new AppError("invalid_request", "The body is not valid UTF-8. Send its text encoded as UTF-8.");
  if (body.includes("\\ud") || body.includes("\\uD")) spellSurrogates.add(request);
}

/** Up to fifty texts and field names with half a surrogate pair; none when a body has too many values. Not recursive. */
function findHalfPairs(body: unknown): string[] {
  const found: string[] = [];
  const waiting: { value: unknown; path: string }[] = [{ value: body, path: "" }];
  for (let next = waiting.pop(); next && found.length < MAX_PROBLEMS; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value === "string" && !value.isWellFormed()) found.push(path);
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      const place = path === "" ? String(name) : `${path}.${name}`;
      if (typeof name === "string" && !name.isWellFormed()) found.push(place);
      if (waiting.push({ value: inner, path: place }) > MAX_VALUES) return [];
    }
  }
  return found;
}

/** Postgres stores no half pair. */
function refuseHalfPairs(request: Request): AppError | undefined {
  const places = spellSurrogates.has(request) ? findHalfPairs(request.body).slice(0, MAX_PROBLEMS) : [];
  const problems = places.map((place) => ({ field: place.slice(0, 200).toWellFormed() || "body", problem: HALF_PAIR }));
  return problems.length > 0 ? AppError.invalid(problems) : undefined;
}

/** express.json would ignore such a body. */
export const requireJson: RequestHandler = (request, _response, next) => {
  const isEmpty = request.get("content-length") === "0"; // as fetch posts nothing
  if (!isEmpty && request.is("application/json") === false) {
    throw new AppError(
      "unsupported_media_type",
      `The body is "${request.get("content-type") ?? "of no type"}". Send JSON with the header content-type: application/json.`,
    );
  }
  next();
};

/** Closing at once would lose the answer. */
const LINGER_MS = 10_000;

/** Answers at once, and closes the connection after the rest of the body or LINGER_MS. */
function answerEarly(request: Request, response: Response): void {
  const end = response.end.bind(response) as (...parts: unknown[]) => Response;
  response.set("connection", "close");
  response.end = (body?: unknown): Response => {
    if (body !== undefined) response.write(body);
    const timer = setTimeout(finish, LINGER_MS);
    function finish(): void {
      clearTimeout(timer);
      end();
    }
    request.once("end", finish).once("close", finish).resume();
    return response;
  };
}

/** Refuses more than `limitBytes` by the Content-Length, else once more has come. The parser alone would read to the end. */
export function limitBody(limitBytes: number, parser: RequestHandler): RequestHandler {
  return function readBody(request: Request, response: Response, next: NextFunction) {
    let decided = false;
    let received = 0;
    function decide(error?: unknown): void {
      if (decided) return;
      decided = true;
      request.off("data", count);
      next(error);
    }
    function refuse(): void {
      answerEarly(request, response);
      decide(new AppError("body_too_large", `The body is larger than ${limitBytes} bytes. Shorten it.`));
    }
    function count(piece: Buffer): void {
      received += piece.length;
      if (received > limitBytes) refuse();
    }
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) return refuse();
    if (request.headers["transfer-encoding"] !== undefined) request.on("data", count);
    return parser(request, response, decide);
  };
}

/** Throws AppError `invalid_request` for what is not UTF-8, or half a surrogate pair. */
export function readJson(limitBytes: number): RequestHandler {
  const parse = express.json({ limit: limitBytes, verify: checkBytes });
  return limitBody(limitBytes, (request, response, next) =>
    parse(request, response, (error?: unknown) => next(error ?? refuseHalfPairs(request))),
  );
}

/** The most bytes of all large bodies in a process. */
const ROOM_BYTES = 256 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 2;

/**
 * Reads JSON that may hold files. Bodies larger than `ordinaryBytes` share ROOM_BYTES until their answer has ended; of a packed body
 * `ordinaryBytes` are read.
 */
export type ReadLargeJson = (limits: { limitBytes: number; ordinaryBytes: number }) => RequestHandler;

/** Throws AppError `overloaded` without room, and what `readJson` throws. */
export function makeReadLargeJson(roomBytes = ROOM_BYTES): ReadLargeJson {
  let taken = 0;

  /** Whether there is room. */
  function take(bytes: number, response: Response): boolean {
    if (taken + bytes > roomBytes) return false;
    taken += bytes;
    response.once("close", () => void (taken -= bytes));
    return true;
  }

  return function readLargeJson({ limitBytes, ordinaryBytes }) {
    const [readLarge, readOrdinary] = [readJson(limitBytes), readJson(ordinaryBytes)];
    return function readBody(request, response, next) {
      let decided = false;
      function decide(error?: unknown): void {
        if (decided) return;
        decided = true;
        request.off("data", count);
        next(error);
      }
      function refuse(): void {
        answerEarly(request, response);
        const message = `So many large bodies are being read that there is no room for this one. Send it again in ${RETRY_AFTER_SECONDS} s.`;
        decide(new AppError("overloaded", message, { retryAfterSeconds: RETRY_AFTER_SECONDS }));
      }
      let received = 0;
      /** Counts a body of unknown length. */
      function count(piece: Buffer): void {
        received += piece.length;
        if (received <= ordinaryBytes) return;
        request.off("data", count);
        if (!take(limitBytes, response)) refuse();
      }

      const length = request.headers["content-length"];
      if (request.headers["content-encoding"] !== undefined || Number(length) <= ordinaryBytes)
        return readOrdinary(request, response, decide);
      if (length === undefined) request.on("data", count);
      else if (Number(length) <= limitBytes && !take(Number(length), response)) return refuse();
      return readLarge(request, response, decide);
    };
  };
}
