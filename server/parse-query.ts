import querystring, { type ParsedUrlQuery } from "node:querystring";
import { AppError } from "../errors/app-error.ts";

/** A name or value as it was before it was put into an address; null when it is not UTF-8 behind its percent signs. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/**
 * A query string as Express keeps it, all of it, however many fields. Throws AppError `invalid_request` for a broken percent-encoding, which
 * would else be read as other characters.
 */
export function parseQuery(text: string | null | undefined): ParsedUrlQuery {
  const given = text ?? "";
  for (const part of given.split("&")) {
    const [name = "", ...values] = part.split("=");
    if (decoded(part) !== null) continue;
    const field = decoded(name) ?? "query";
    throw AppError.invalid([{ field, problem: `"${values.join("=").slice(0, 80)}" is not percent-encoded UTF-8; encode it again` }]);
  }
  return querystring.parse(given, "&", "=", { maxKeys: 0 });
}
