import { AppError } from "../../errors/app-error.ts";
import type { Picture } from "../../turn/picture.ts";
import { pictureTokens } from "./picture-tokens.ts";

/** Which models see pictures, and a picture's tokens, by the model's name. */
export interface Sight {
  /** Null: nobody knows, so it is tried. */
  sees: (model: string) => boolean | null;
  /** Its server has refused pictures. */
  learnBlind: (model: string) => void;
  tokensOf: (model: string, pictures: readonly Picture[]) => number;
}

/** A refusal is forgotten after so long: the server may have another model under the name. */
const BLIND_FOR_MS = 10 * 60_000;

/** What is known of the models. */
export interface SightParts {
  /** A model's abilities, or null. Default: unknown. */
  capabilitiesOf?: (model: string) => readonly string[] | null;
  /** A model's name at its server. Default: its name. */
  servedAs?: (name: string) => string;
  now?: () => number;
}

/** Knows which models see pictures, and learns from servers that refuse them. */
export function makeSight({
  capabilitiesOf = () => null,
  servedAs = (name) => name,
  now = () => performance.now(),
}: SightParts = {}): Sight {
  const blindUntil = new Map<string, number>();
  return {
    sees(model) {
      if ((blindUntil.get(model) ?? -Infinity) > now()) return false;
      return capabilitiesOf(model)?.includes("images") ?? null;
    },
    learnBlind: (model) => void blindUntil.set(model, now() + BLIND_FOR_MS),
    tokensOf: (model, pictures) => pictures.reduce((sum, picture) => sum + pictureTokens(servedAs(model), picture), 0),
  };
}

/** The error of a turn whose message has pictures. */
export const cannotSee = (model: string, cause?: AppError): AppError =>
  new AppError(
    "model_cannot_see",
    `The model "${model}" cannot see pictures. Choose one that can, or send words alone. Its operator says with capabilities in MODEL_PROFILES what it can.`,
    { cause, serverWords: cause?.serverWords },
  );
