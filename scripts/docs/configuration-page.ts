import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import type { z } from "zod";
import { SETTINGS } from "../../server/settings/settings.ts";

const PAGE = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../.env.example", import.meta.url));
const COMPOSE = fileURLToPath(new URL("../../docker-compose.yml", import.meta.url));
const LINE_LENGTH = 120;
/** What Docker Compose sets itself. */
const SET_BY_COMPOSE = ["PORT", "HOST", "API_KEYS", "DATABASE_URL", "DATA_DIR"];

interface Setting {
  name: string;
  about: string;
  /** As one writes it; null when unset by default. */
  fallback: string | null;
}

/** Throws when a setting has no description. */
function settingOf([name, type]: [string, z.ZodType]): Setting {
  if (type.description === undefined) throw new Error(`${name} in server/settings/settings.ts has no description: add .describe("…").`);
  const fallback = type.safeParse(undefined).data as string | number | boolean | undefined;
  return { name, about: type.description, fallback: fallback?.toString() ?? null };
}

const groups = Object.entries(SETTINGS).map(([title, settings]) => ({ title, settings: Object.entries(settings).map(settingOf) }));

export async function renderConfigurationPage(): Promise<string> {
  const row = ({ name, about, fallback }: Setting) => `| \`${name}\` | ${fallback === null ? "" : `\`${fallback}\``} | ${about} |`;
  const page = [
    "# Configuration",
    "Every setting is an environment variable. A file `.env` in the working directory adds variables; one that is set already wins. An empty variable counts as unset. `NAME_FILE` is the path of a file with the value of `NAME`, as secrets are mounted. A service that finds a wrong setting does not start, and names every problem at once.",
    "`npm run docs` writes this page and [.env.example](../.env.example) from [server/settings/settings.ts](../server/settings/settings.ts).",
    ...groups.map(
      ({ title, settings }) => `## ${title}\n\n| variable | default | meaning |\n| --- | --- | --- |\n${settings.map(row).join("\n")}`,
    ),
  ].join("\n\n");
  return format(page, { ...(await resolveConfig(PAGE)), parser: "markdown" });
}

function comment(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (longer.length < LINE_LENGTH) lines[lines.length - 1] = longer;
    else lines.push(` ${word}`);
  }
  return lines.map((line) => `#${line}`).join("\n");
}

/** Defaults are commented out, settings without one are empty. */
export function renderEnvExample(): string {
  const entry = ({ name, about, fallback }: Setting) => `${comment(about)}\n${fallback === null ? `${name}=` : `# ${name}=${fallback}`}`;
  const head = comment(
    "Copy this file to .env and edit it; `npm start` and `docker compose up` read it. A variable that is set in the shell wins, an empty one counts as unset. What is commented out shows its default. Docker Compose sets PORT, HOST, DATABASE_URL and DATA_DIR itself. Each variable NAME can be read from a file: NAME_FILE is its path.",
  );
  return `${head}\n${groups.map(({ title, settings }) => `\n# --- ${title} ---\n${settings.map(entry).join("\n")}\n`).join("")}`;
}

/** docker-compose.yml, in which the service gets every other setting. */
export function renderCompose(): string {
  const names = groups.flatMap(({ settings }) => settings.map(({ name }) => name)).filter((name) => !SET_BY_COMPOSE.includes(name));
  const passedThrough = /(?<=# Passed through.*\n)(?: +[A-Z_]+:\n)+/;
  return readFileSync(COMPOSE, "utf8").replace(passedThrough, names.map((name) => `      ${name}:\n`).join(""));
}

if (import.meta.main) {
  writeFileSync(PAGE, await renderConfigurationPage());
  writeFileSync(EXAMPLE, renderEnvExample());
  writeFileSync(COMPOSE, renderCompose());
}
