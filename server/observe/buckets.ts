/** Upper bounds in seconds: from what the service itself takes to a slow model's long answer. */
export const TURN_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Upper bounds in seconds of one call of a store; few, because there are many kinds of statements. */
export const STORE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10];
