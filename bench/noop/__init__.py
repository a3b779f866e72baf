"""Runs whose tasks nobody runs: workers that speak the real protocol, and what launches for them. Used by several benches."""
