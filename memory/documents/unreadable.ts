import { AppError } from "../../errors/app-error.ts";

/** The error of a document that cannot be read. `reason` goes on after "cannot be read: " and says what the person can do about it. */
export function unreadable(reason: string, { title, cause }: { title?: string; cause?: unknown } = {}): AppError {
  const name = title === undefined ? "The document" : `The document ${JSON.stringify(title.slice(0, 200).toWellFormed())}`;
  return new AppError("document_unreadable", `${name} cannot be read: ${reason}`, cause === undefined ? {} : { cause });
}
