import { execFile } from "node:child_process";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A file system in memory that can be filled. */
export interface SmallDisk {
  folder: string;
  /** Leaves so many bytes free. */
  fill(leave?: number): Promise<void>;
  empty(): Promise<void>;
  remove(): Promise<void>;
}

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-disk-"));
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=777`, "tmpfs", folder]);
  const filler = path.join(folder, "filler");
  return {
    folder,
    async fill(leave = 0) {
      const { bavail, bsize } = await statfs(folder);
      await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - leave), 1));
    },
    empty: () => rm(filler, { force: true }),
    async remove() {
      await run("umount", [folder]);
      await rm(folder, { recursive: true });
    },
  };
}

/** Why no file system can be mounted; undefined when one can. */
export async function whyNoSmallDisk(): Promise<string | undefined> {
  try {
    await (await mountSmallDisk(1)).remove();
    return undefined;
  } catch {
    return "this user may not mount a file system";
  }
}
