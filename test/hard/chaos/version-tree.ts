import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { FLOORS } from "../../../scripts/house/floors.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** What a service is made of; its page is not needed to serve. */
const SOURCES = [...new Set(FLOORS.flat().map((room) => room.split("/")[0] ?? "")), "package.json"].filter((name) => name !== "web");

const MIGRATIONS = "stores/postgres/migrations";

export interface VersionTree {
  /** For `startServiceProcess`. */
  main: string;
  remove(): Promise<void>;
}

async function makeTree(fill: (folder: string) => Promise<void>): Promise<VersionTree> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-version-"));
  await fill(folder);
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
  return { main: path.join(folder, "server/main.ts"), remove: () => rm(folder, { recursive: true, force: true }) };
}

export function makeNextVersion(migration: { name: string; sql: string }): Promise<VersionTree> {
  return makeTree(async (folder) => {
    for (const name of SOURCES) await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    await writeFile(path.join(folder, MIGRATIONS, migration.name), migration.sql);
  });
}

export const git = async (...arguments_: string[]): Promise<string> => (await run("git", ["-C", ROOT, ...arguments_])).stdout.trim();

/**
 * The version before this one: what PREVIOUS_VERSION names to git, else the newest release that is not this commit. Undefined when there is
 * none.
 */
export async function findPreviousVersion(): Promise<string | undefined> {
  const given = process.env["PREVIOUS_VERSION"];
  if (given) return given;
  const released = await git("tag", "--list", "v*", "--sort=-v:refname", "--merged", "HEAD", "--no-contains", "HEAD").catch(() => "");
  return released.split("\n")[0] || undefined;
}

async function migrationsOf(commit: string): Promise<string[]> {
  const listed = await git("ls-tree", "--name-only", `${commit}:${MIGRATIONS}`);
  return listed.split("\n").sort();
}

const showMigration = (commit: string, name: string): Promise<string> => git("show", `${commit}:${MIGRATIONS}/${name}`);

/** The newest migration that a file stands for, as four digits. */
export const lastOf = (name: string, sql: string): string => /^-- Stands for \d{4} to (\d{4}) /.exec(sql)?.[1] ?? name.slice(0, 4);

/** The newest migration of an earlier commit or tag, as four digits. */
export async function newestMigrationOf(commit: string): Promise<string> {
  const name = (await migrationsOf(commit)).at(-1) as string;
  return lastOf(name, await showMigration(commit, name));
}

/**
 * The migrations up to this one as they stood before a file replaced them, by their names. Undefined when git's history does not reach back
 * to them.
 */
export async function replacedMigrations(last: string): Promise<Map<string, string> | undefined> {
  const replacing = await git("log", "-1", "--diff-filter=D", "--format=%H", "--", `:(glob)${MIGRATIONS}/${last}_*.sql`).catch(() => "");
  const before = await git("rev-parse", "--verify", `${replacing}^`).catch(() => "");
  if (!before) return undefined;
  const names = (await migrationsOf(before)).filter((name) => name.slice(0, 4) <= last);
  return new Map(await Promise.all(names.map(async (name) => [name, await showMigration(before, name)] as const)));
}

/** Writes the files of a commit into a folder. */
export async function extractCommit(commit: string, folder: string): Promise<void> {
  const archive = path.join(folder, "sources.tar");
  await git("archive", "--output", archive, commit);
  await run("tar", ["-x", "-C", folder, "-f", archive]);
  await rm(archive);
}

export const checkOutVersion = (commit: string): Promise<VersionTree> => makeTree((folder) => extractCommit(commit, folder));
