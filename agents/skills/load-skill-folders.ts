import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { AppError, toAppError } from "../../errors/app-error.ts";
import { MAX_SKILL_BYTES, parseSkill, type Skill, SKILL_FILE, SKILL_NAME, SKILL_PATH, type SkillFiles } from "./skill.ts";

export interface SystemSkill extends Skill {
  files: SkillFiles;
}

const refuse = (where: string, problem: string, cause?: unknown): AppError =>
  new AppError("invalid_configuration", `SKILLS_DIR: ${where}: ${problem}`, cause === undefined ? {} : { cause });

/** The real path; throws when a link leads out of `root`. */
async function findInside(root: string, file: string): Promise<string> {
  const real = await realpath(file).catch((error: unknown) => {
    throw refuse(path.relative(root, file), "cannot be read", error);
  });
  if (real.startsWith(root + path.sep)) return real;
  throw refuse(path.relative(root, file), "is a link that leads out of the folder");
}

/** Null for pictures, programs, pipes and texts that are too large. */
async function readText(file: string): Promise<string | null> {
  const about = await stat(file);
  if (!about.isFile() || about.size > MAX_SKILL_BYTES) return null;
  const bytes = await readFile(file);
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString("utf8") : null;
}

const isShown = ({ name }: Dirent): boolean => !name.startsWith(".");

/** The texts of a folder and its subfolders, by path. Skips deeper files and names that no path can have. */
async function readFiles(root: string, folder: string, above = ""): Promise<[path: string, text: string][]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(isShown);
  const read = entries.map(async ({ name }): Promise<[string, string][]> => {
    const file = await findInside(root, path.join(folder, name));
    if ((await stat(file)).isDirectory()) return above === "" ? readFiles(root, file, `${name}/`) : [];
    const text = await readText(file);
    return text === null || !SKILL_PATH.test(above + name) ? [] : [[above + name, text]];
  });
  return (await Promise.all(read)).flat();
}

async function loadFolder(root: string, name: string): Promise<SystemSkill[]> {
  const folder = await findInside(root, path.join(root, name));
  if (!(await stat(folder)).isDirectory()) return [];
  if (!SKILL_NAME.test(name)) throw refuse(name, "the name of a skill has 1 to 64 small letters, digits and dashes");
  const files = Object.fromEntries(await readFiles(root, folder));
  if (!Object.hasOwn(files, SKILL_FILE))
    throw refuse(name, `has no ${SKILL_FILE}, or none that is a text of at most ${MAX_SKILL_BYTES} bytes`);
  try {
    const { description } = parseSkill(name, files);
    return [{ name, description, tier: "system", files }];
  } catch (error) {
    throw refuse(`${name}/${SKILL_FILE}`, toAppError(error).message, error);
  }
}

/**
 * The system's skills: each folder of `folder`. Nothing in them is run. Throws AppError `invalid_configuration` that names file and field.
 */
export async function loadSkillFolders(folder: string): Promise<SystemSkill[]> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw refuse(`"${folder}"`, "cannot be read", error);
  });
  const names = (await readdir(root, { withFileTypes: true })).filter(isShown).map(({ name }) => name);
  return (await Promise.all(names.sort().map((name) => loadFolder(root, name)))).flat();
}
