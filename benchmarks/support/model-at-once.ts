/** The benchmarks' model server answers this model at once, however slow it is told to be: it is for jobs, whose time is not what is measured. */
export const MODEL_AT_ONCE = "bench-at-once";
