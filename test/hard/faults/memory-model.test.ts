import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("memory_model");
