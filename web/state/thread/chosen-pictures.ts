import { signal } from "@preact/signals";
import type { Status } from "../../api/types.ts";
import { randomId } from "../../browser/random-id.ts";

export const PICTURE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

export type PictureLimits = Status["pictures"];
/** The service's limits for one message; null until known. Bytes are the pictures' own. */
export const pictureLimits = signal<PictureLimits | null>(null);

export interface ChosenPicture {
  id: string;
  name: string;
  bytes: number;
  /** A data: address. */
  url: string;
}

/** Why a file was not taken. */
export type Refusal = "none" | "type" | "count" | "size" | "together" | "unreadable";

export function readAsUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(blob);
  });
}

function makeChosenPictures() {
  const chosen = signal<readonly ChosenPicture[]>([]);
  const refused = signal<{ name: string; why: Refusal } | null>(null);

  async function take(file: File): Promise<void> {
    const refuse = (why: Refusal): void => void (refused.value = { name: file.name, why });
    const limits = pictureLimits.value;
    const together = chosen.value.reduce((sum, { bytes }) => sum + bytes, file.size);
    if (!PICTURE_TYPES.includes(file.type)) return refuse("type");
    if (limits && chosen.value.length >= limits.max_count) return refuse(limits.max_count === 0 ? "none" : "count");
    if (limits && file.size > limits.max_bytes) return refuse("size");
    if (limits && together > limits.max_total_bytes) return refuse("together");
    try {
      const url = await readAsUrl(file);
      chosen.value = [...chosen.value, { id: randomId(), name: file.name, bytes: file.size, url }];
    } catch {
      refuse("unreadable");
    }
  }

  return {
    chosen,
    refused,
    async add(files: Iterable<File>): Promise<void> {
      refused.value = null;
      for (const file of files) await take(file); // in their order
    },
    remove: (id: string): void => void (chosen.value = chosen.value.filter((picture) => picture.id !== id)),
    clear(): void {
      chosen.value = [];
      refused.value = null;
    },
  };
}

export type ChosenPictures = ReturnType<typeof makeChosenPictures>;

const bySession = new Map<string, ChosenPictures>();

/** Unsent pictures stay with their conversation as long as the page. */
export function picturesFor(sessionId: string): ChosenPictures {
  const known = bySession.get(sessionId) ?? makeChosenPictures();
  bySession.set(sessionId, known);
  return known;
}
