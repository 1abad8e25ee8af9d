export interface CauseFacts {
  name: string;
  code?: unknown;
  status?: unknown;
}

/** What the log may say of an error's causes, outermost first: names, codes and statuses, not messages, which can quote what a user said. */
export function causeFacts(error: Error): CauseFacts[] {
  const facts: CauseFacts[] = [];
  for (let cause = error.cause; cause instanceof Error && facts.length < 10; cause = cause.cause) {
    facts.push({
      name: cause.name,
      ...("code" in cause && cause.code !== undefined ? { code: cause.code } : {}),
      ...("status" in cause && cause.status !== undefined ? { status: cause.status } : {}),
    });
  }
  return facts;
}
