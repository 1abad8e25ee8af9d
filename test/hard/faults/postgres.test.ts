import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("postgres");
