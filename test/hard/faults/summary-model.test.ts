import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("summary_model");
