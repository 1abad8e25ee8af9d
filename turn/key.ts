import { AppError } from "../errors/app-error.ts";

/** The Idempotency-Key that a turn begins with, as hashes; one turn of a user has it at a time. */
export interface TurnKey {
  keyHash: string;
  bodyHash: string;
  /** The attempt that failed or whose process died: its message is answered again, and the key moves on from it. Null: a new message. */
  earlier: EarlierAttempt | null;
}

export interface EarlierAttempt {
  turnId: string;
  /** Whether it had an outcome when it was looked at. */
  hadOutcome: boolean;
  /** This process ran it and knows that it is over, though it may still hold the conversation. */
  isOverHere: boolean;
}

/** A turn has this key by now, or another attempt of it. Whoever hears this looks the key up again. */
export class KeyTaken extends AppError {
  constructor() {
    super("conversation_busy", "A turn with this Idempotency-Key has begun meanwhile. Send the request again to get its answer.");
  }
}
