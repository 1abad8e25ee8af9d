import { parseArgs } from "node:util";
import satisfies from "spdx-satisfies";
import { bundledPackages, installedPackages } from "./packages.ts";

/** Licences that ask for a notice and no more. https://spdx.org/licenses */
const PERMITTED = [
  "MIT",
  "MIT-0",
  "ISC",
  "0BSD",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "CC0-1.0",
  "Zlib",
  "PSF-2.0",
  "BlueOak-1.0.0",
  "Unlicense",
];

function isPermitted(licence: string): boolean {
  try {
    return satisfies(licence, PERMITTED);
  } catch {
    return false; // no expression of SPDX: somebody has to read it
  }
}

const { values } = parseArgs({ options: { all: { type: "boolean", default: false } } });
const shipped = [...installedPackages(), ...(await bundledPackages())];
const licences = new Map(shipped.map(({ name, version, license }) => [`${name}@${version}`, license]));
const refused = [...licences].filter(([, licence]) => !isPermitted(licence));

if (values.all) for (const [name, licence] of [...licences].sort()) console.log(`${licence.padEnd(28)} ${name}`);
const counts = new Map<string, number>();
for (const licence of licences.values()) counts.set(licence, (counts.get(licence) ?? 0) + 1);
for (const [licence, count] of [...counts].sort((one, other) => other[1] - one[1])) console.log(`${String(count).padStart(4)} ${licence}`);
for (const [name, licence] of refused) console.error(`${name} has the licence "${licence}", which is not among those that are permitted`);
console.log(`${licences.size} packages, ${refused.length} that may not be shipped`);
process.exitCode = refused.length === 0 ? 0 : 1;
