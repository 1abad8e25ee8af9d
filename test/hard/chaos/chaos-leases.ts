import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../stores/postgres/database/database.ts";

const LOOK_EVERY_MS = 100;

const HELD = `
select id, turn_id, (extract(epoch from turn_lease_until) * 1000)::float8 as until, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
from conversations where turn_id is not null and turn_lease_until >= clock_timestamp()`;

interface Held {
  id: string;
  turn_id: string;
  /** Milliseconds by the clock of the database. */
  until: number;
  now: number;
}

/** How long conversations were held, in milliseconds, as seen every 100 ms. */
export interface LeaseFigures {
  /** The longest that one stayed locked behind the last renewal of its lease: nobody was at work on it then, or not for long. */
  longestUnrenewedMs: number;
  longestHeldMs: number;
  ranOut: number;
  violations: string[];
}

/** Watches the leases of all conversations until it is stopped. */
export function watchLeases(database: Database, leaseMs: number): { stop(): Promise<LeaseFigures> } {
  const figures: LeaseFigures = { longestUnrenewedMs: 0, longestHeldMs: 0, ranOut: 0, violations: [] };
  const seen = new Map<string, { since: number; renewed: number; until: number; last: number }>();
  let stopped = false;

  async function look(): Promise<void> {
    const rows = await database.query<Held>({ text: HELD });
    const held = new Set(rows.map(({ turn_id }) => turn_id));
    for (const { id, turn_id, until, now } of rows) {
      const before = seen.get(turn_id);
      const renewed = before?.until === until ? before.renewed : until - leaseMs;
      seen.set(turn_id, { since: before?.since ?? renewed, renewed, until, last: now });
      figures.longestUnrenewedMs = Math.max(figures.longestUnrenewedMs, now - renewed);
      figures.longestHeldMs = Math.max(figures.longestHeldMs, now - (before?.since ?? renewed));
      if (until - now > leaseMs + 1) figures.violations.push(`conversation ${id} is held by ${turn_id} for another ${until - now} ms`);
    }
    for (const [turnId, { until, last }] of seen) {
      if (held.has(turnId)) continue;
      if (until - last < LOOK_EVERY_MS * 3) figures.ranOut++;
      seen.delete(turnId);
    }
  }

  const watching = (async () => {
    while (!stopped) {
      await look();
      await sleep(LOOK_EVERY_MS);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await watching;
      return figures;
    },
  };
}
