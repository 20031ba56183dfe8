"""The Python worker's parts: the process (process, support), a provider file (provider_file), a case (case, frameworks,
wire) and its run (execution, timing, failures). docs/worker-protocol.md is what they speak."""
