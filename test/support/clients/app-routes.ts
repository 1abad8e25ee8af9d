import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";

export interface AppRoute {
  method: string;
  /** As Express has it, with `:names`. */
  path: string;
}

/** What Express keeps of a route or a mounted router: https://github.com/pillarjs/router/blob/master/lib/layer.js */
interface Layer {
  rawPath: string | string[];
  route?: { methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

const FINISHED = "http.server.response.finish";

function routesOf(layers: readonly Layer[], mountedAt: string): AppRoute[] {
  return layers.flatMap(({ rawPath, route, handle }) =>
    [rawPath].flat().flatMap((path) => {
      const below = (mountedAt + path).replace(/\/+$/, "");
      if (route) return Object.keys(route.methods).map((method) => ({ method: method.toUpperCase(), path: below || "/" }));
      return handle.stack ? routesOf(handle.stack, below) : [];
    }),
  );
}

/** Every route of the service at this address, which must run in this process, read from Express itself: a new one cannot be forgotten. */
export async function routesOfService(url: string): Promise<AppRoute[]> {
  const { promise, resolve } = Promise.withResolvers<Layer[]>();
  const onFinished = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage & { app?: { router: { stack: Layer[] } } } };
    if (request.app && request.headers["x-looks-for-routes"] === url) resolve(request.app.router.stack);
  };
  subscribe(FINISHED, onFinished);
  await fetch(`${url}/healthz`, { headers: { "x-looks-for-routes": url } });
  const routes = routesOf(await promise, "");
  unsubscribe(FINISHED, onFinished);
  return routes;
}

/** The address of a route with its names filled in, those that are not given by `other`. */
export function addressOf({ path }: AppRoute, names: Record<string, string>, other = "x"): string {
  return path.replace(/[{}]/g, "").replace(/[:*](\w+)/g, (_whole, name: string) => encodeURIComponent(names[name] ?? other));
}
