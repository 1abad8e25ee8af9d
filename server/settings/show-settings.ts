import type { z } from "zod";
import { type Config, SETTINGS } from "./settings.ts";

const SECRET = /KEY|SECRET|HEADERS|TOKEN$|^DATABASE_URL$|WEBHOOK_URL$/;

/** Whether a setting may be secret. */
export const isSecret = (name: string): boolean => SECRET.test(name);

export interface ShownSetting {
  name: string;
  group: string;
  /** Null when unset or secret. */
  value: string | null;
  secret: boolean;
  set: boolean;
  meaning: string;
}

function written(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === "object" && value !== null) {
    const parts: unknown[] = Object.values(value);
    return parts.some((part) => typeof part === "object") ? JSON.stringify(value) : parts.join(",");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Hides a possible password. */
function withoutPassword(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) return text;
  const { origin, pathname, search } = new URL(text);
  return origin + pathname.replace(/\/$/, "") + (search === "" ? "" : "?…");
}

/** All settings with their values, in the order of .env.example. Of secrets it tells only whether they are set. */
export function showSettings(config: Config): ShownSetting[] {
  return Object.entries(SETTINGS).flatMap(([group, settings]) =>
    Object.entries<z.ZodType>(settings).map(([name, schema]) => {
      const value = written(config[name as keyof Config]);
      const secret = isSecret(name);
      return {
        name,
        group,
        value: value === null || secret ? null : withoutPassword(value),
        secret,
        set: value !== written(schema.safeParse(undefined).data),
        meaning: schema.description ?? "",
      };
    }),
  );
}
