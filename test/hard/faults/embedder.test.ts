import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("embedder");
