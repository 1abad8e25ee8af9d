/** A decision of the router, whether it was right, and how sure it said it was. */
export interface JudgedRoute {
  isRight: boolean;
  confidence: number;
}

/** Decisions of about the same confidence: the share that should be right by it, and the share that is. */
export interface ConfidenceBucket {
  from: number;
  to: number;
  count: number;
  expected: number;
  observed: number;
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The decisions by their confidence, between the edges given; empty buckets are left out. */
export function confidenceBuckets(routes: readonly JudgedRoute[], edges = [0, 0.4, 0.6, 0.8, 0.9, 1.01]): ConfidenceBucket[] {
  return edges.slice(0, -1).flatMap((from, index) => {
    const to = edges[index + 1] ?? 1;
    const inside = routes.filter(({ confidence }) => confidence >= from && confidence < to);
    if (inside.length === 0) return [];
    const expected = mean(inside.map(({ confidence }) => confidence));
    return [{ from, to: Math.min(1, to), count: inside.length, expected, observed: mean(inside.map(({ isRight }) => Number(isRight))) }];
  });
}
