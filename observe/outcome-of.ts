import { AppError } from "../errors/app-error.ts";

/** How something that threw ended, as a label with few values: the code of an AppError, else what kind of end it was. */
export function outcomeOf(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.code;
  if (thrown instanceof Error && thrown.name === "TimeoutError") return "timeout";
  if (thrown instanceof Error && thrown.name === "AbortError") return "cancelled";
  return "internal_error";
}
