import path from "node:path";

const OF_NPM = /^(npm_config_(registry|cache|userconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i;

const IMPATIENT = { npm_config_fetch_timeout: "60000" };

/**
 * The environment of somebody who has nothing but a home and npm: without what this project's own `npm` run has put into it, its
 * `node_modules/.bin` above all.
 */
export function plainEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => OF_NPM.test(name) || name === "HOME");
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...IMPATIENT, ...(Object.fromEntries(kept) as Record<string, string>), PATH: folders.join(path.delimiter) };
}
