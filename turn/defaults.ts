/** Defaults of a turn, for the settings of the service and for programs that build a graph themselves. */
export const TURN_DEFAULTS = {
  /** Milliseconds after which the conversation of a dead process is free again. */
  leaseMs: 15_000,
  /** Milliseconds for each read of memory. */
  memoryReadTimeoutMs: 800,
  /** Recalled exchanges in a prompt. */
  topK: 3,
  scope: "user",
} as const;
