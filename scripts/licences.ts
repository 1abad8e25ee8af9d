import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import satisfies from "spdx-satisfies";
import { bundleLibrary, bundleService, packagesOf } from "./bundle.ts";

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

const READ: Readonly<Record<string, string>> = {
  "duck@0.1.12": "BSD-2-Clause", // package.json says "BSD"; the text in LICENSE is that of two clauses
};

interface Component {
  name: string;
  version: string;
  licenses?: { expression?: string; license?: { id?: string; name?: string } }[];
}

/** npm's own bill of materials: https://docs.npmjs.com/cli/commands/npm-sbom */
function listInstalled(): Component[] {
  const command = ["sbom", "--omit=dev", "--sbom-format=cyclonedx"];
  const output = execFileSync("npm", command, { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
  return (JSON.parse(output) as { components: Component[] }).components;
}

function readPackage(folder: string): Component {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Component & { license?: string };
  return { name, version, licenses: license === undefined ? [] : [{ expression: license }] };
}

function licenceOf({ name, version, licenses = [] }: Component): string {
  const said = licenses.map(({ expression, license }) => expression ?? license?.id ?? license?.name ?? "").join(" AND ");
  return READ[`${name}@${version}`] ?? said;
}

function isPermitted(licence: string): boolean {
  try {
    return satisfies(licence, PERMITTED);
  } catch {
    return false; // no expression of SPDX: somebody has to read it
  }
}

const { values } = parseArgs({ options: { all: { type: "boolean", default: false } } });
const inside = packagesOf(await Promise.all([bundleService({ write: false }), bundleLibrary({ write: false })]));
const shipped = [...listInstalled(), ...inside.map(readPackage)];
const licences = new Map(shipped.map((component) => [`${component.name}@${component.version}`, licenceOf(component)]));
const refused = [...licences].filter(([, licence]) => !isPermitted(licence));

if (values.all) for (const [name, licence] of [...licences].sort()) console.log(`${licence.padEnd(28)} ${name}`);
const counts = new Map<string, number>();
for (const licence of licences.values()) counts.set(licence, (counts.get(licence) ?? 0) + 1);
for (const [licence, count] of [...counts].sort((one, other) => other[1] - one[1])) console.log(`${String(count).padStart(4)} ${licence}`);
for (const [name, licence] of refused) console.error(`${name} has the licence "${licence}", which is not among those that are permitted`);
console.log(`${licences.size} packages, ${refused.length} that may not be shipped`);
process.exitCode = refused.length === 0 ? 0 : 1;
