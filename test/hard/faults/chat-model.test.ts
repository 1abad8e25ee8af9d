import { testFaultsOf } from "./test-faults.ts";

await testFaultsOf("chat_model");
