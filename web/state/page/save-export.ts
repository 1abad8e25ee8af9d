import { exportUser } from "../../api/view-endpoints.ts";

/** Milliseconds until the browser has surely begun to save it. */
const KEPT_MS = 60_000;

export async function saveExport(owner: string): Promise<void> {
  const file = URL.createObjectURL(await (await exportUser(owner)).blob());
  const link = document.createElement("a");
  link.href = file;
  link.download = `${owner}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(file), KEPT_MS);
}
