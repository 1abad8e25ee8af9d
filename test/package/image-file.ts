import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";

/** An instruction of a Dockerfile; `words` are those of its JSON form where it has one. */
export interface ImageStep {
  keyword: string;
  text: string;
  words: string[];
  flags: Record<string, string>;
}

function toStep(line: string): ImageStep {
  const [keyword = "", ...rest] = line.split(/\s+/);
  const words = rest.slice(rest.findIndex((word) => !word.startsWith("--")));
  const flags = rest.slice(0, rest.length - words.length);
  const text = words.join(" ");
  return {
    keyword,
    text,
    words: text.startsWith("[") ? (JSON.parse(text) as string[]) : words,
    flags: Object.fromEntries(flags.map((flag) => flag.slice(2).split("=", 2) as [string, string])),
  };
}

export const readImageSteps = (file: string): ImageStep[] =>
  readFileSync(file, "utf8")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "")
    .map(toStep);

/** The files under `root` that a build is given: all but those that `.dockerignore` names, relative to `root`. */
export async function listContext(root: string): Promise<string[]> {
  const rules = readFileSync(path.join(root, ".dockerignore"), "utf8").split("\n");
  if (rules.some((rule) => rule.startsWith("!"))) throw new Error("A rule that takes something back in needs every folder looked into.");
  const isIgnored = (file: string): boolean => rules.some((rule) => path.matchesGlob(file, rule));
  const list = async (folder: string): Promise<string[]> => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true });
    const kept = entries.map((entry) => ({ entry, file: path.join(folder, entry.name) })).filter(({ file }) => !isIgnored(file));
    return (await Promise.all(kept.map(async ({ entry, file }) => (entry.isDirectory() ? list(file) : [file])))).flat();
  };
  return list("");
}
