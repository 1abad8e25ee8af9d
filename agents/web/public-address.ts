import ipaddr from "ipaddr.js";

/** Addresses of the internet. All others of IPv6 belong to a machine, a network or a translation to IPv4. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** A public number, but each machine at Azure reaches its host's own service there. */
const OF_THE_HOST = new Set(["168.63.129.16"]);

/** Whether an IP address is on the internet: no machine, private network, test or tunnel. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // an IPv4-mapped address is that of IPv4
  if (parsed.range() !== "unicast" || OF_THE_HOST.has(parsed.toString())) return false;
  return parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6);
}

/** A name or an address that nobody may be sent to. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  constructor(host: string) {
    super(`"${host.slice(0, 100)}" does not lead to a public address of the internet.`);
  }
}
