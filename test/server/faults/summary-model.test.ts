import { testFaultsOf } from "../../support/test-faults.ts";

await testFaultsOf("summary_model");
