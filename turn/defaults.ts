export const TURN_DEFAULTS = {
  /** In milliseconds. */
  leaseMs: 15_000,
  memoryReadTimeoutMs: 800,
  topK: 3,
  passages: 4,
  scope: "user",
} as const;
