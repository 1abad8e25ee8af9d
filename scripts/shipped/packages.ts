import { readFileSync } from "node:fs";
import type { Metafile } from "esbuild";
import { bundlePage } from "../bundle-page.ts";
import { bundleLibrary, bundleService } from "../bundle.ts";

export interface Package {
  folder: string;
  name: string;
  version: string;
  /** An expression of SPDX: https://spdx.org/licenses */
  license: string;
}

/** build-service.ts copies these unchanged. */
const COPIED = ["swagger-ui-dist"];

/** Licences that package.json tells wrongly. */
const READ: Readonly<Record<string, string>> = {
  "duck@0.1.12": "BSD-2-Clause", // it says "BSD"; the text in LICENSE has two clauses
};

function readPackage(folder: string): Package {
  const { name, version, license = "" } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Omit<Package, "folder">;
  return { folder, name, version, license: READ[`${name}@${version}`] ?? license };
}

/** The packages in dist/: bundled into the service, the library or the page, or copied. */
export function packagesOf(metafiles: Metafile[]): Package[] {
  const folders = metafiles
    .flatMap(({ inputs }) => Object.keys(inputs))
    .map((file) => /^(?:.*node_modules\/)(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set([...folders, ...COPIED.map((name) => `node_modules/${name}`)])].sort().map(readPackage);
}

/** The same without writing dist/. */
export async function bundledPackages(): Promise<Package[]> {
  return packagesOf(await Promise.all([bundleService, bundleLibrary, bundlePage].map((bundle) => bundle({ write: false }))));
}

/** The packages that npm installs with this one, on every platform. */
export function installedPackages(): Package[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { version: string; license?: string; dev?: true; devOptional?: true }>;
  };
  return Object.entries(packages)
    .filter(([folder, { dev, devOptional }]) => folder !== "" && dev !== true && devOptional !== true)
    .map(([folder, { version, license = "" }]) => ({ folder, name: folder.replace(/^.*node_modules\//, ""), version, license }));
}
