/** Milliseconds since the machine started, the same clock in every process. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;
