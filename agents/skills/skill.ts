import { parse } from "yaml";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { AgentTier } from "../../turn/agent.ts";

/** The file that makes a folder a skill: frontmatter, then instructions. */
export const SKILL_FILE = "SKILL.md";

export const SKILL_NAME = /^[a-z0-9-]{1,64}$/;

/** Texts by path: SKILL.md, and files beside it or in a folder beside it. */
export type SkillFiles = Readonly<Record<string, string>>;

/** A skill as an agent's prompt describes it. */
export interface Skill {
  name: string;
  description: string;
  tier: AgentTier;
}

/** For all texts of a skill together. */
export const MAX_SKILL_BYTES = 2 ** 20;
const MAX_FILES = 100;
const MAX_FRONTMATTER_CHARACTERS = 16_000;

/** A name that cannot lead out of its folder. */
const SEGMENT = String.raw`[\p{L}\p{N}][\p{L}\p{N}_. -]{0,99}`;
/** At most one folder deep. */
export const SKILL_PATH = new RegExp(`^(?:${SEGMENT}/)?${SEGMENT}$`, "u");

const text = (most: number) => z.string("must be a text").trim().min(1, "is blank").max(most, `has more than ${most} characters`);

/** https://agentskills.io/specification. Other fields mean nothing here. */
const Frontmatter = z.object({
  name: z.string("must be a text").regex(SKILL_NAME, "must have 1 to 64 small letters, digits and dashes"),
  description: text(1_024).regex(/^[^<>]*$/, "must not have < or >"),
  license: text(500).optional(),
  compatibility: text(500).optional(),
  "allowed-tools": z.union([text(2_000), z.array(text(200)).max(200)], "must be a text or a list of texts").optional(),
  metadata: z.record(z.string(), z.unknown(), "must be a list of names and values").optional(),
});
type Frontmatter = z.infer<typeof Frontmatter>;

interface SkillProblem {
  field: string;
  problem: string;
}

/** The frontmatter as YAML, and the instructions after it; null without frontmatter. */
export function splitSkillFile(whole: string): { frontmatter: string; body: string } | null {
  const lines = whole.replace(/^\uFEFF/u, "").split(/\r?\n/u);
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  if (lines[0]?.trimEnd() !== "---" || end < 0) return null;
  return {
    frontmatter: lines.slice(1, end).join("\n"),
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

function readFrontmatter(whole: string): { frontmatter: Frontmatter } | { problems: SkillProblem[] } {
  const problem = (field: string, what: string) => ({ problems: [{ field, problem: what }] });
  const split = splitSkillFile(whole);
  if (!split) return problem(SKILL_FILE, "must begin with a frontmatter between two lines of ---");
  if (split.frontmatter.length > MAX_FRONTMATTER_CHARACTERS)
    return problem(SKILL_FILE, `has a frontmatter of more than ${MAX_FRONTMATTER_CHARACTERS} characters`);
  let value: unknown;
  try {
    value = parse(split.frontmatter, { schema: "core", logLevel: "error" });
  } catch (error) {
    return problem(
      SKILL_FILE,
      `has a frontmatter that is no YAML: ${error instanceof Error ? error.message.slice(0, 300) : "it cannot be read"}`,
    );
  }
  const parsed = Frontmatter.safeParse(value);
  if (parsed.success) return { frontmatter: parsed.data };
  const list = parsed.error.issues.map(({ path, message }) => ({ field: path.join(".") || SKILL_FILE, problem: message }));
  return { problems: list };
}

function problemsOf(files: SkillFiles): SkillProblem[] {
  const paths = Object.keys(files);
  const bytes = Object.values(files).reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  const wrong = paths.filter((path) => !SKILL_PATH.test(path));
  return [
    ...wrong.map((path) => ({
      field: `files.${path.slice(0, 200)}`,
      problem: "must be the name of a file, or FOLDER/FILE: letters, digits, _ . - and blanks",
    })),
    ...(paths.length > MAX_FILES ? [{ field: "files", problem: `are ${paths.length}, more than ${MAX_FILES}` }] : []),
    ...(bytes > MAX_SKILL_BYTES ? [{ field: "files", problem: `have ${bytes} bytes, more than ${MAX_SKILL_BYTES}` }] : []),
    ...(Object.hasOwn(files, SKILL_FILE) ? [] : [{ field: `files.${SKILL_FILE}`, problem: "is missing" }]),
  ];
}

/** A skill's frontmatter. Throws AppError `invalid_request` that names each wrong field. */
export function parseSkill(name: string, files: SkillFiles): Frontmatter {
  const problems = problemsOf(files);
  if (problems.length > 0) throw AppError.invalid(problems);
  const read = readFrontmatter(files[SKILL_FILE] ?? "");
  if ("problems" in read) throw AppError.invalid(read.problems);
  if (read.frontmatter.name !== name)
    throw AppError.invalid([
      { field: "name", problem: `is "${read.frontmatter.name}" in ${SKILL_FILE}, and the skill is called "${name}"` },
    ]);
  return read.frontmatter;
}
