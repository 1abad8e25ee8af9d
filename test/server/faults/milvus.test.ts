import { testFaultsOf } from "../../support/test-faults.ts";

await testFaultsOf("milvus");
