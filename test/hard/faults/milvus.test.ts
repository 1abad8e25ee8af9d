import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("milvus");
