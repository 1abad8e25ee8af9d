import { statfs } from "node:fs/promises";
import os from "node:os";

const IN_MEMORY = "/dev/shm";
/** More than all databases of a run take at once. */
const ROOM_BYTES = 4 * 1024 ** 3;

/** Memory, where Linux offers it as a folder with room: a database is a thousand files, and every test has its own. */
export async function chooseTestFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= ROOM_BYTES ? IN_MEMORY : os.tmpdir();
}

/** Where servers and services of tests keep their data; benches keep theirs on the disk. */
export const testFolder = (): string => process.env["TEST_FOLDER"] ?? os.tmpdir();
