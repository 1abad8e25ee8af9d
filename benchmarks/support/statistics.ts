export interface Distribution {
  p50: number;
  p95: number;
  p99: number;
}

/** The value below which a share of the sorted values lies, by the nearest-rank method. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function distribution(values: readonly number[]): Distribution {
  return { p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99) };
}
