import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = fileURLToPath(new URL("../peers/", import.meta.url));

/** Installs what is measured against, exactly as its lock file says, unless it is there. No script of a package runs. */
export async function installPeers(): Promise<void> {
  if (existsSync(`${FOLDER}node_modules/.package-lock.json`)) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: FOLDER, maxBuffer: 16 * 1024 * 1024 });
}
