import { AppError } from "../errors/app-error.ts";

/** An Idempotency-Key, as hashes. One turn of a user holds it at a time. */
export interface TurnKey {
  keyHash: string;
  bodyHash: string;
  /** The attempt whose message is answered again; null for a new message. */
  earlier: EarlierAttempt | null;
}

/** An attempt that failed or whose process died. */
export interface EarlierAttempt {
  turnId: string;
  /** Stored when it was looked up. */
  hadOutcome: boolean;
  /** It may still hold the conversation. */
  isOverHere: boolean;
}

/** Another turn has the key by now: look it up again. */
export class KeyTaken extends AppError {
  constructor() {
    super("conversation_busy", "A turn with this Idempotency-Key has begun meanwhile. Send the request again to get its answer.");
  }
}
