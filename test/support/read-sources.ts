import { globSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export function readSources(folders: readonly string[]): { checker: ts.TypeChecker; files: { file: string; exported: ts.Symbol[] }[] } {
  const { config } = ts.readConfigFile(path.join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as { config: object };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const names = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }));
  const program = ts.createProgram(
    names.map((file) => path.join(ROOT, file)),
    { ...options, noEmit: true },
  );
  const checker = program.getTypeChecker();
  const files = names.map((file) => {
    const source = program.getSourceFile(path.join(ROOT, file));
    const module = source && checker.getSymbolAtLocation(source);
    return { file, exported: module ? checker.getExportsOfModule(module) : [] };
  });
  return { checker, files };
}
