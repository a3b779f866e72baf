"""The REST and SSE face of partita: contract, services and the server process.

Owns what crosses HTTP. Refuses to decide: every verdict comes from the planner and the state tables, and user code is never
imported (S-028, S-057). Import the submodules; this file loads nothing, so that the command line can use the contract's
models without FastAPI.
"""
