import { isIP } from "node:net";
import { z } from "zod";
import { SECTION_NAME } from "../../memory/core/tool-schemas.ts";
import { LONGEST_INSTRUCTIONS, type ContextShares } from "../../turn/context.ts";
import { EpisodeType } from "../../turn/state.ts";

/** In milliseconds, 2^31 - 1. A longer timer of Node fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const wholeNumber = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number of ${minimum} or more`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be between ${minimum} and ${maximum}`);

export const instructions = z
  .string()
  .refine((text) => [...text].length <= LONGEST_INSTRUCTIONS, `has more than ${LONGEST_INSTRUCTIONS} characters; shorten it`);

export const httpUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:/.test(text), "must be a URL that begins with http:// or https://");

const commaList = z.string().transform((text) => text.split(",").map((part) => part.trim()));

const isOrigin = (text: string): boolean => !text.includes("*") && URL.canParse(text) && new URL(text).origin === text;
export const origins = commaList.refine(
  (given) => given.every((origin) => origin === "*" || isOrigin(origin)),
  "must be origins joined by commas, like https://chat.example.org, or * for every one",
);

const HOST_NAME = /^[a-z\d_]([a-z\d_.-]{0,251}[a-z\d_])?$/i;
export const hostNames = commaList
  .transform((names) => names.map((name) => name.toLowerCase()))
  .refine(
    (names) => names.every((name) => HOST_NAME.test(name) || isIP(name) !== 0),
    "must be host names or addresses joined by commas, without ports, like chat.home.arpa",
  );

function isProxy(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128));
}

/** As Express takes them. */
export const trustedProxies = z
  .string()
  .refine(
    (text) => /^\d{1,2}$/.test(text) || text.split(",").every((one) => isProxy(one.trim())),
    "must be the number of proxies in front, or their addresses or networks joined by commas, like loopback,10.0.0.0/8",
  )
  .transform((text) => (/^\d+$/.test(text) ? Number(text) : text));

export const sectionNames = commaList.refine(
  (names) => names.length <= 20 && names.every((name) => SECTION_NAME.test(name)),
  "must be at most 20 names joined by commas, each of small letters, digits, dash and underscore, like hobbies,family",
);

export const episodeTypes = commaList.pipe(
  z.array(z.enum(EpisodeType.options, `must be some of ${EpisodeType.options.join(", ")}, joined by commas`)),
);

/** Four whole numbers of at least 1, 100 together. */
export const contextShares = commaList
  .refine((parts) => parts.length === 4 && parts.every((part) => /^[1-9]\d?$/.test(part)), "must be four whole numbers, like 10,50,25,15")
  .transform((parts): ContextShares => {
    const [system = 0, history = 0, recent = 0, output = 0] = parts.map(Number);
    return { system, history, recent, output };
  })
  .refine(({ system, history, recent, output }) => system + history + recent + output === 100, "must be 100 together");

export const decimalNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, `must be a number between ${minimum} and ${maximum}`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be a number between ${minimum} and ${maximum}`);

export const milliseconds = (minimum: number) => wholeNumber(minimum, LONGEST_TIMER_MS);

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

export const timeZone = z.string().refine(isTimeZone, "must be a time zone like Europe/Lisbon or UTC");

export const onOrOff = (fallback: boolean) =>
  z
    .enum(["true", "false"], "must be true or false")
    .default(fallback ? "true" : "false")
    .transform((text) => text === "true");

function headerOf(pair: string): [name: string, value: string] | undefined {
  const [, name = "", value = ""] = /^\s*([\w-]+)=([\x21-\x7e]+)\s*$/.exec(pair) ?? [];
  try {
    return name === "" ? undefined : [name, decodeURIComponent(value)];
  } catch {
    return undefined;
  }
}

export const headers = z
  .string()
  .transform((text) => text.split(",").map(headerOf))
  .refine((pairs) => pairs.every((pair) => pair !== undefined), "must be name=value pairs joined by commas, values percent-encoded")
  .transform((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== undefined)));

function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export const jsonObject = z
  .string()
  .transform(parsedObject)
  .refine((value) => value !== undefined, 'must be a JSON object like {"top_k": 40}')
  .transform((value): Record<string, unknown> => value ?? {});

/** By RFC 9110. */
const HEADER_NAME_FORM = /^[\w!#$%&'*+.^`|~-]+$/;

/** Names, and values that HTTP can carry. */
export const HeaderRecord = z.record(
  z.string().regex(HEADER_NAME_FORM, "is no name of a header"),
  z.string("must be a text").regex(/^[\t\x20-\x7e\x80-\xff]*$/, "cannot be sent as the value of a header"),
);

const HEADERS_FORM = 'must be a JSON object of texts like {"X-Team": "red"}, or name=value pairs joined by commas';

/** As JSON, or like `headers`. */
export const jsonHeaders = z
  .string()
  .transform((text) => (/^\s*\{/.test(text) ? parsedObject(text) : headers.safeParse(text).data))
  .refine((value) => HeaderRecord.safeParse(value).success, HEADERS_FORM)
  .transform((value) => value as Record<string, string>);

export const headerName = z.string().regex(HEADER_NAME_FORM, "must be the name of a header, like api-key");

export const postgresUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^postgres(ql)?:/.test(text), "must be a URL like postgres://user:password@host:5432/database");

export const hostAndPort = z.string().regex(/^(https?:\/\/)?[^\s:/]+:\d{1,5}$/, "must be host:port");
