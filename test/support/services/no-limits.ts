/** Tests send more than people do; those of the limits set their own. */
export const NO_LIMITS = { RATE_LIMIT_PER_MINUTE: "0", MAX_CONCURRENT_TURNS_PER_USER: "0" };
