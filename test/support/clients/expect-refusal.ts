import { expect } from "@jest/globals";
import type { ApiResponse, ErrorBody } from "./api-client.ts";

export interface Refusal {
  status: number;
  code: string;
  /** The field that `details` must name. */
  field?: string;
  says?: RegExp;
}

/** What gives a lower layer away: stacks, paths of sources, driver and parser messages. */
export const LOWER_LAYER =
  /node_modules|\.ts\b|\.js\b|\bat [\w.]+ \(|SyntaxError|TypeError|ECONN|SQLSTATE|syntax error|in JSON at|postgres|zod|express/i;

/** An error repeats the cursor that it refuses. It is Base64, and that of some minutes holds the letters "zOD". */
export const withoutCursors = (text: string): string => text.replace(/[\w-]{60,}/g, "");

/** The answer is a JSON error of this shape and no more, its message names the fault, and nothing of a lower layer shows. */
export function expectRefusal({ status, headers, text, json }: ApiResponse<ErrorBody>, refusal: Refusal): void {
  expect({ status, text }).toMatchObject({ status: refusal.status });
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(Object.keys(json)).toEqual(["error"]);
  const { code, message, details, ...others } = json.error;
  expect(others).toEqual({});
  expect(code).toBe(refusal.code);
  expect(message).toMatch(refusal.says ?? /\w+ \w+/);
  expect(withoutCursors(text)).not.toMatch(LOWER_LAYER);
  if (refusal.field === undefined) return;
  expect(details?.map(({ field }) => field)).toContain(refusal.field);
  for (const { field, problem } of details ?? []) expect(message).toContain(`${field}: ${problem}`);
}
