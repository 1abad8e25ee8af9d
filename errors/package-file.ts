import module from "node:module";
import { pathToFileURL } from "node:url";

/** Why this Node cannot run the package, or null. 22.14 brought the newest thing that is used. */
export const nodeProblem =
  "findPackageJSON" in module
    ? null
    : `conversation-graph needs Node 22.14 or later, and this is Node ${process.versions.node} (${process.execPath}).`;

/** The address of a file of this package by its path from the root, in the sources and in the bundle. */
export function packageFile(path: string): URL {
  if (nodeProblem !== null) throw new Error(nodeProblem);
  const manifest = module.findPackageJSON(import.meta.url);
  if (manifest === undefined) throw new Error(`there is no package.json above ${import.meta.filename}`);
  return new URL(path, pathToFileURL(manifest));
}
