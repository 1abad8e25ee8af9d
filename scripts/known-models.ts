import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ModelProfile } from "@langchain/core/language_models/profile";
import { format, resolveConfig } from "prettier";
import { CAPABILITIES, type KnownModel } from "../models/facts/known-model.ts";
import { canonicalModelName } from "../models/facts/find-known-model.ts";

/** Run it when LangChain has new profiles: `node scripts/known-models.ts`. */
const TABLE = fileURLToPath(new URL("../models/facts/known-model-table.ts", import.meta.url));

/** LangChain's packages and their profiles. The first that knows a model counts: its maker's before a reseller's. */
const PACKAGES: readonly [name: string, file: string][] = [
  ["@langchain/openai@1.6.0", "dist/chat_models/profiles.js"],
  ["@langchain/anthropic@1.5.11", "dist/profiles.js"],
  ["@langchain/google-genai@2.3.2", "dist/profiles.js"],
  ["@langchain/deepseek@1.1.13", "dist/profiles.js"],
  ["@langchain/xai@1.4.15", "dist/profiles.js"],
  ["@langchain/openrouter@0.4.11", "dist/profiles.js"],
  ["@langchain/groq@1.3.1", "dist/profiles.js"],
];

async function readProfiles(folder: string, name: string, file: string): Promise<Record<string, ModelProfile>> {
  const options = { cwd: folder, encoding: "utf8" } as const;
  const [archive = ""] = execFileSync("npm", ["pack", "--silent", name], options).trim().split("\n").slice(-1);
  execFileSync("tar", ["xzf", archive, `package/${file}`], options);
  writeFileSync(join(folder, "package", "package.json"), '{"type": "module"}');
  // Each package unpacks to the same place, and a module is loaded once for each address.
  const address = `${pathToFileURL(join(folder, "package", file)).href}?${name}`;
  return ((await import(address)) as { default: Record<string, ModelProfile> }).default;
}

function toKnown({ maxInputTokens, maxOutputTokens, ...profile }: ModelProfile): KnownModel | null {
  if (!maxInputTokens) return null;
  const can = CAPABILITIES.filter(({ field }) => profile[field] === true).map(({ name }) => name);
  return { context: maxInputTokens, ...(maxOutputTokens ? { output: maxOutputTokens } : {}), can };
}

/** They do not chat. */
const OTHER_MODELS = /embedding|image|-tts|flux|seedream|riverflow|realtime|live|guard|native-audio/;

/** A name before the same name with a day. */
const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => one.length - other.length;

const folder = mkdtempSync(join(tmpdir(), "known-models-"));
const known: Record<string, KnownModel> = {};
try {
  for (const [name, file] of PACKAGES) {
    for (const [model, profile] of Object.entries(await readProfiles(folder, name, file)).toSorted(byName)) {
      const facts = OTHER_MODELS.test(model) ? null : toKnown(profile);
      if (facts) known[canonicalModelName(model)] ??= facts;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const table = Object.fromEntries(Object.entries(known).toSorted(([one], [other]) => (one < other ? -1 : 1)));
const source = `import type { KnownModel } from "./known-model.ts";

/** Made by scripts/known-models.ts. */
export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
${Object.entries(table)
  .map(([model, facts]) => `${JSON.stringify(model)}: ${JSON.stringify(facts)}`)
  .join(",\n")}
};
`;
writeFileSync(TABLE, await format(source, { ...(await resolveConfig(TABLE)), parser: "typescript" }));
