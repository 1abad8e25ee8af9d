import { lookup as lookUp } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector, fetch as fetchWith } from "undici";
import { AddressRefused, isPublicAddress } from "./public-address.ts";

export interface PublicFetchParts {
  /** All addresses of a name. Default: the machine's resolver. */
  resolve?: (name: string) => Promise<{ address: string; family: number }[]>;
  /** Default: isPublicAddress. */
  isAllowed?: (address: string) => boolean;
}

/**
 * A `fetch` for public addresses only. Each connection looks its name up once and uses a checked address, so that neither a redirect nor a
 * changing name leads elsewhere. Rejects with a TypeError whose cause is AddressRefused.
 */
export function makePublicFetch({
  resolve = (name) => lookUp(name, { all: true }),
  isAllowed = isPublicAddress,
}: PublicFetchParts = {}): typeof fetch {
  const lookUpChecked: LookupFunction = (name, { all }, callback) => {
    resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        // Refuses one private address among public ones, too: nobody could tell which would be taken.
        if (!first || !addresses.every(({ address }) => isAllowed(address))) return callback(new AddressRefused(name), "", 0);
        if (all) return callback(null, addresses);
        callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, "", 0),
    );
  };
  const connect = buildConnector({ lookup: lookUpChecked });
  const dispatcher = new Agent({
    pipelining: 0, // no connection is used twice
    connect(options, callback) {
      // An address is not looked up.
      if (isIP(options.hostname) !== 0 && !isAllowed(options.hostname)) return callback(new AddressRefused(options.hostname), null);
      connect(options, callback);
    },
  });
  return ((input: Parameters<typeof fetchWith>[0], init?: Parameters<typeof fetchWith>[1]) =>
    fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
}
