import { readFileSync } from "node:fs";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { ModelProfile } from "../../models/facts/model-facts.ts";

const Profiles = z.record(z.string(), ModelProfile);

/** The file of MODEL_PROFILES. Throws AppError `invalid_configuration`. */
export function readModelProfiles(file: string | undefined): z.infer<typeof Profiles> {
  if (file === undefined) return {};
  const invalid = (problem: string, cause?: unknown): AppError =>
    new AppError("invalid_configuration", `MODEL_PROFILES: "${file}" ${problem}`, {
      details: [{ field: "MODEL_PROFILES", problem }],
      cause,
    });
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw invalid(error instanceof SyntaxError ? "is not JSON" : "cannot be read", error);
  }
  const parsed = Profiles.safeParse(content);
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`).join("; "));
}
