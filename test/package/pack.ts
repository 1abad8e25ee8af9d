import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { listContext } from "./image-file.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

export type Packed = { filename: string; size: number; files: { path: string }[] };

/** `npm pack` with its scripts on a copy of the sources that has files of an earlier build. */
export async function pack(folder: string, env: Record<string, string>): Promise<Packed> {
  const sources = path.join(folder, "sources");
  for (const file of [...(await listContext(root)), "README.md", ".env.example"]) cpSync(path.join(root, file), path.join(sources, file));
  symlinkSync(path.join(root, "node_modules"), path.join(sources, "node_modules"));
  const earlier = ["dist/renamed-since.js", "dist/chunks/renamed-since.js", "dist/types/graph/renamed-since.d.ts"];
  for (const file of earlier) {
    mkdirSync(path.dirname(path.join(sources, file)), { recursive: true });
    writeFileSync(path.join(sources, file), "");
  }
  // What its scripts print comes before.
  const { stdout } = await run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], { cwd: sources, env });
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as Packed[];
  if (!packed) throw new Error(`npm pack said nothing: ${stdout}`);
  return packed;
}
