"""The Python worker's parts, which speak docs/worker-protocol.md.

The process (process, support), a provider file (provider_file), a case (case, frameworks, wire) and
its run (execution, timing, failures).
"""
