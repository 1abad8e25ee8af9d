import vm from "node:vm";
import { TestEnvironment } from "jest-environment-node";

const { SourceTextModule } = vm;

/** What V8 has made of each module's source, by the module's path. */
const compiled = new Map();

/** A module of a test file. It runs anew, but an earlier file of the same worker may have compiled it. */
class SharedModule extends SourceTextModule {
  constructor(source, options) {
    const known = compiled.get(options.identifier);
    const isSame = known?.source === source;
    super(source, isSame ? { ...options, cachedData: known.cachedData } : options);
    if (!isSame) compiled.set(options.identifier, { source, cachedData: this.createCachedData() });
  }
}

vm.SourceTextModule = SharedModule;

/** Jest's own environment; its workers load this file before the first module of a test. */
export default TestEnvironment;
