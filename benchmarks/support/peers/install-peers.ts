import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = fileURLToPath(new URL("../../peers/", import.meta.url));

/** When a file was written, in milliseconds; 0 when it is not there. */
async function writtenAt(file: string): Promise<number> {
  return stat(`${FOLDER}${file}`).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

/** Installs what is measured against, exactly as its lock file says, unless that was done since the lock file was written. No script of a package runs. */
export async function installPeers(): Promise<void> {
  if ((await writtenAt("node_modules/.package-lock.json")) > (await writtenAt("package-lock.json"))) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: FOLDER, maxBuffer: 16 * 1024 * 1024 });
}
