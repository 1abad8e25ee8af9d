import { AppError } from "../errors/app-error.ts";

/** The Idempotency-Key of a message, as hashes. Per user, only one turn holds a key at a time. */
export interface TurnKey {
  keyHash: string;
  bodyHash: string;
  /** The attempt that failed, whose message is answered again. Null for a new message. */
  earlier: EarlierAttempt | null;
}

/** An attempt that failed or whose process died. */
export interface EarlierAttempt {
  turnId: string;
  /** Whether an outcome was stored when it was looked up. */
  hadOutcome: boolean;
  /** This process ran it to its end; it may still hold the conversation. */
  isOverHere: boolean;
}

/** Thrown when another turn or attempt has the key by now: look the key up again. */
export class KeyTaken extends AppError {
  constructor() {
    super("conversation_busy", "A turn with this Idempotency-Key has begun meanwhile. Send the request again to get its answer.");
  }
}
