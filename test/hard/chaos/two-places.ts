import { type ServiceProcess, startServiceProcess } from "../../servers/service-process.ts";
import { type StatementProxy, startStatementProxy } from "../../servers/statement-proxy.ts";

/** A process whose statements go through a proxy, so that it can be killed at one of them. */
export interface KillablePlace {
  proxy: StatementProxy;
  service: ServiceProcess;
}

/** How often a process was killed at a statement, by its name. */
export type KillsAt = Record<string, number>;

/** Two processes on one database. */
export async function openTwoPlaces(databaseUrl: string, environment: Record<string, string>, main?: string) {
  await using opening = new AsyncDisposableStack();
  const killed = new Set<string>();
  const at: KillsAt = {};
  const openPlace = async (): Promise<KillablePlace & { start: () => Promise<ServiceProcess> }> => {
    const proxy = await startStatementProxy(databaseUrl);
    opening.defer(() => proxy.close());
    const start = () => startServiceProcess({ ...environment, DATABASE_URL: proxy.url }, main);
    return { proxy, start, service: await start() };
  };
  const places = [await openPlace(), await openPlace()] as const; // one after another: the first migrates
  opening.defer(async () => {
    for (const { service } of places) service.kill("SIGKILL");
    await Promise.all(places.map(({ service }) => service.exited));
  });
  const opened = opening.move();
  return {
    places,
    at,
    isKilled: (address: string): boolean => killed.has(address),
    /** Kills the process at its statement number `blow / 2`, before it for an even blow, else behind it; the returned function resolves when it is there again. */
    armed: (place: (typeof places)[number], blow: number): (() => Promise<void>) => {
      const when = blow % 2 === 0 ? ("before" as const) : ("after" as const);
      let restarting: Promise<ServiceProcess> | undefined;
      place.proxy.arm({
        when,
        at: 1 + Math.floor(blow / 2),
        strike(statement) {
          const name = `${when} ${statement}`;
          at[name] = (at[name] ?? 0) + 1;
          killed.add(place.service.url);
          place.service.kill("SIGKILL");
          restarting = place.service.exited.then(() => place.start());
        },
      });
      return async () => {
        place.proxy.disarm();
        if (restarting) place.service = await restarting;
      };
    },
    close: () => opened.disposeAsync(),
  };
}
