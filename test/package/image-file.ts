import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import dockerignore from "@balena/dockerignore";
import { DockerfileParser, JSONInstruction, type Instruction } from "dockerfile-ast";

/** An instruction of a Dockerfile; `words` are those of its JSON form where it has one. */
export interface ImageStep {
  keyword: string;
  text: string;
  words: string[];
  flags: Record<string, string>;
}

const toStep = (instruction: Instruction): ImageStep => {
  const flags = instruction instanceof JSONInstruction ? instruction.getFlags() : [];
  const json = instruction instanceof JSONInstruction ? instruction.getJSONStrings().map((argument) => argument.getJSONValue()) : [];
  const rest = instruction.getArguments().map((argument) => argument.getValue());
  return {
    keyword: instruction.getKeyword(),
    text: instruction.getRawArgumentsContent()?.replaceAll(/\\\n\s*/g, "") ?? "",
    words: json.length > 0 ? json : rest,
    flags: Object.fromEntries(flags.map((flag) => [flag.getName(), flag.getValue() ?? ""])),
  };
};

export const readImageSteps = (file: string): ImageStep[] =>
  DockerfileParser.parse(readFileSync(file, "utf8")).getInstructions().map(toStep);

/** The files under `root` that a build is given: all but those that `.dockerignore` names, relative to `root`. */
export async function listContext(root: string): Promise<string[]> {
  const rules = readFileSync(path.join(root, ".dockerignore"), "utf8").split("\n");
  if (rules.some((rule) => rule.startsWith("!"))) throw new Error("A rule that takes something back in needs every folder looked into.");
  const ignore = dockerignore.default().add(rules);
  const list = async (folder: string): Promise<string[]> => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true });
    const kept = entries.map((entry) => ({ entry, file: path.join(folder, entry.name) })).filter(({ file }) => !ignore.ignores(file));
    return (await Promise.all(kept.map(async ({ entry, file }) => (entry.isDirectory() ? list(file) : [file])))).flat();
  };
  return list("");
}
