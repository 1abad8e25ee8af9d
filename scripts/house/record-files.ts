import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/**
 * Loaded with `--import`, also in worker threads: every source file reports the first call of one of its functions. WALK_LOG names the file
 * for their paths, one a line.
 */
const ROOT = path.resolve(import.meta.dirname, "../..");
const OURS = /^(?:server|graph|nodes|agents|prompt|memory|stores|models|turn|text|observe|errors)\//;

const log = process.env["WALK_LOG"] ?? "";
const state = globalThis as typeof globalThis & { recordFile?: (file: string) => void };
state.recordFile = (file) => appendFileSync(log, `${file}\n`);

function recordCalls(file: string): ts.TransformerFactory<ts.SourceFile> {
  return (context) => {
    const { factory } = context;
    const call = factory.createExpressionStatement(
      factory.createCallExpression(factory.createIdentifier("recordFile"), undefined, [factory.createStringLiteral(file)]),
    );
    const inBlock = (body: ts.ConciseBody): ts.Block =>
      ts.isBlock(body)
        ? factory.updateBlock(body, [call, ...body.statements])
        : factory.createBlock([call, factory.createReturnStatement(body)], true);
    const visit = (node: ts.Node): ts.Node => {
      const seen = ts.visitEachChild(node, visit, context);
      if (ts.isFunctionDeclaration(seen) && seen.body)
        return factory.updateFunctionDeclaration(
          seen,
          ...([seen.modifiers, seen.asteriskToken, seen.name, seen.typeParameters, seen.parameters, seen.type] as const),
          inBlock(seen.body),
        );
      if (ts.isMethodDeclaration(seen) && seen.body)
        return factory.updateMethodDeclaration(
          seen,
          ...([
            seen.modifiers,
            seen.asteriskToken,
            seen.name,
            seen.questionToken,
            seen.typeParameters,
            seen.parameters,
            seen.type,
          ] as const),
          inBlock(seen.body),
        );
      if (ts.isFunctionExpression(seen))
        return factory.updateFunctionExpression(
          seen,
          ...([seen.modifiers, seen.asteriskToken, seen.name, seen.typeParameters, seen.parameters, seen.type] as const),
          inBlock(seen.body),
        );
      if (ts.isArrowFunction(seen))
        return factory.updateArrowFunction(
          seen,
          ...([seen.modifiers, seen.typeParameters, seen.parameters, seen.type, seen.equalsGreaterThanToken] as const),
          inBlock(seen.body),
        );
      return seen;
    };
    return (source) => ts.visitEachChild(source, visit, context);
  };
}

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith("file:") || !url.endsWith(".ts")) return nextLoad(url, context);
    const file = path.relative(ROOT, fileURLToPath(url));
    if (!OURS.test(file)) return nextLoad(url, context);
    const { outputText } = ts.transpileModule(ts.sys.readFile(fileURLToPath(url)) ?? "", {
      fileName: file,
      compilerOptions: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
      transformers: { before: [recordCalls(file)] },
    });
    return { format: "module", source: outputText, shortCircuit: true };
  },
});
