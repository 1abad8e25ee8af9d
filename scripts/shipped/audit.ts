import { execFile } from "node:child_process";
import { bundledPackages, installedPackages } from "./packages.ts";

/** What `npm audit --json` prints. `via` has an advisory, or the name of a package with one; without its registry, there is a message. */
interface Report {
  message?: string;
  vulnerabilities?: Record<string, { nodes: string[]; via: (string | { title: string; url: string; severity: string })[] }>;
}

function auditAll(): Promise<Report> {
  const options = { maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve) => execFile("npm", ["audit", "--json"], options, (_, stdout) => resolve(JSON.parse(stdout) as Report)));
}

// npm itself takes bundled packages for tools.
const { message, vulnerabilities } = await auditAll();
if (vulnerabilities !== undefined) {
  const shipped = new Set([...(await bundledPackages()), ...installedPackages()].map(({ folder }) => folder));
  const found = Object.values(vulnerabilities).flatMap(({ nodes, via }) => {
    const folders = nodes.filter((folder) => shipped.has(folder)).join(", ");
    const advisories = via.filter((cause) => typeof cause !== "string");
    return folders === "" ? [] : advisories.map(({ severity, title, url }) => `${folders}: ${severity}, ${title}, ${url}`);
  });
  for (const line of found) console.error(line);
  console.log(`${shipped.size} packages are shipped, ${found.length} advisories`);
  process.exitCode = found.length === 0 ? 0 : 1;
} else if (message !== undefined) {
  console.log(`skipped: the registry tells no advisories (${message})`);
} else throw new Error("npm audit has told neither advisories nor why it has none");
