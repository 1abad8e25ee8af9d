import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { offerTurns, type Offered } from "./offer-turns.ts";

interface Offer {
  url: string;
  streams: number;
  prefix: string;
}

/** Clients in a process of their own, so that reading other streams delays none of what they measure. */
export interface ClientProcess {
  /** As `offerTurns`. One offer at a time. */
  offerTurns(...offer: Parameters<typeof offerTurns>): Promise<Offered[]>;
  stop(): void;
}

/** Starts this file in a process of its own and waits until it can offer turns. */
export async function startClientProcess(): Promise<ClientProcess> {
  const child = fork(fileURLToPath(import.meta.url));
  await once(child, "message");
  return {
    async offerTurns(url, streams, prefix) {
      child.send({ url, streams, prefix } satisfies Offer);
      const [offered] = (await once(child, "message")) as [Offered[]];
      return offered;
    },
    stop: () => void child.kill(),
  };
}

if (import.meta.main && process.send) {
  const tell = process.send.bind(process);
  process.on("message", ({ url, streams, prefix }: Offer) => void offerTurns(url, streams, prefix).then((offered) => tell(offered)));
  tell("ready");
}
