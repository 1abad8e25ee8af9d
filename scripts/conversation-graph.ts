#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=30 --disable-warning=DEP0169
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { nodeProblem, packageFile } from "../errors/package-file.ts";

// The command that the package installs.

if (nodeProblem !== null) {
  console.error(nodeProblem);
  process.exit(1);
}

/** Without a word the service starts. Every module runs when it is loaded and reads the arguments after the word. */
const COMMANDS: Readonly<Record<string, { about: string; load: () => Promise<unknown> }>> = {
  migrate: { about: "brings the database up to date and ends; the service does it too when it starts", load: () => import("./migrate.ts") },
  reindex: {
    about: "rebuilds the search index, for another embedding model for example; `reindex --drop-old` only drops old ones",
    load: () => import("./reindex.ts"),
  },
  jobs: { about: "counts the background jobs; `jobs retry [KIND]` runs failed ones again", load: () => import("./jobs.ts") },
  models: {
    about: "lists the models of the running service; `models test [NAME]` tries what one can",
    load: () => import("./models.ts"),
  },
  audit: { about: "`audit --user ID [--tenant TENANT]`: shows what every store holds of a user", load: () => import("./audit.ts") },
  export: {
    about: "`export FILE [--tenant TENANT] [--user ID]`: writes all conversations, memories and documents to one file",
    load: () => import("./export.ts"),
  },
  restore: { about: "`restore FILE`: brings it back into an empty database", load: () => import("./restore.ts") },
  ingest: { about: "`ingest KB FOLDER`: adds documents to a knowledge base of the running service", load: () => import("./ingest.ts") },
  mcp: {
    about:
      "`mcp --user ID`: a user's memory for an editor or assistant that speaks MCP over stdio; messages call it with npx, not with npm",
    load: () => import("./mcp.ts"),
  },
  chat: { about: "talks to the running service in the terminal", load: () => import("./chat.ts") },
};

const manifest = fileURLToPath(packageFile("package.json"));
const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };

const HELP = `conversation-graph ${version}: a self-hosted chat service that remembers

conversation-graph              serves on http://127.0.0.1:8000; Ctrl-C or SIGTERM lets running turns finish and stops it
conversation-graph COMMAND      does what messages call \`npm run COMMAND\`:
${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(30)}${about}`)
  .join("\n")}
conversation-graph [COMMAND] --help, --version

Settings come from the environment and from .env in the working directory: PORT, HOST, DATA_DIR (./.data), DATABASE_URL, OPENAI_API_KEY,
OPENAI_BASE_URL, API_KEYS and more. Each is explained in ${path.join(path.dirname(manifest), ".env.example")}
`;

async function run([word]: string[]): Promise<void> {
  if (word === "--version" || word === "-v") return void process.stdout.write(`${version}\n`);
  if (word === "--help" || word === "-h") return void process.stdout.write(HELP);
  const command = word === undefined ? { load: () => import("../server/main.ts") } : Object.hasOwn(COMMANDS, word) && COMMANDS[word];
  if (command) {
    process.argv.splice(2, 1);
    await command.load();
    return;
  }
  process.stderr.write(`There is no command or option "${word}".\n\n${HELP}`);
  process.exitCode = 1;
}

await run(process.argv.slice(2));
