import { withCauses } from "../../errors/with-causes.ts";

/** The body of a server's answer, as the SDK's error holds it: parsed when it was JSON. */
export interface AnsweredError extends Error {
  error: unknown;
  /** Undefined for an error within a stream. */
  status?: number | undefined;
}

/** The SDK's error with a server's answer, which LangChain may have wrapped; undefined without an answer. */
export function answeredError(thrown: unknown): AnsweredError | undefined {
  const parts = (cause: Error) => cause as Error & { error?: unknown; status?: unknown };
  return withCauses(thrown).find((cause): cause is AnsweredError => (parts(cause).error ?? parts(cause).status) !== undefined);
}

const TROUBLESHOOTING = /\n\nTroubleshooting URL: \S*\n?$/;

export function bodyText({ error, message }: AnsweredError): string {
  return error === undefined ? message.replace(TROUBLESHOOTING, "") : JSON.stringify(error);
}

/** Longer ones are cut. */
const MOST_CHARACTERS = 300;
/** Keys, account ids, and what a JSON parser quotes. */
const SECRETS = /\bbearer\s+[\w.~+/=-]+|\b(?:sk|pk|key|org|proj)-[\w*.-]{4,}|[\w+/=-]{32,}|(?:\\u[\da-f]{4})+/gi;
/** So many sent characters are a quotation. Fewer Chinese ones say as much. */
const QUOTED = 12;
const QUOTED_HAN = 4;

/** A server's words about a failed call, for the log: cut, without keys, and without quoted texts that were sent. */
export function serverWords(answered: AnsweredError, sent: readonly string[]): string {
  const { message } = (answered.error ?? {}) as { message?: unknown };
  const said = (typeof message === "string" ? message : bodyText(answered)).slice(0, 2 * MOST_CHARACTERS).replace(SECRETS, "…");
  const words = withoutQuotations(said, sent.join("\n")).replace(/\s+/g, " ").trim();
  return words.length <= MOST_CHARACTERS ? words : `${words.slice(0, MOST_CHARACTERS)}…`;
}

function withoutQuotations(said: string, sent: string): string {
  const characters = said.split("");
  for (let start = 0; start < said.length; start++) {
    const isHan = /^\p{Script=Han}+$/u.test(said.slice(start, start + QUOTED_HAN));
    const piece = said.slice(start, start + (isHan ? QUOTED_HAN : QUOTED));
    if (piece.length >= (isHan ? QUOTED_HAN : QUOTED) && sent.includes(piece)) characters.fill("…", start, start + piece.length);
  }
  return characters.join("").replace(/…+/g, "…");
}
