"""The pure deciders of the control plane: values in, values out. No I/O, no clock, no random, no environment.

One module each: `transitions` (every move that a task can make), `settle` (readiness of dependents), `admit`, `claim`,
`finish`, `retry`, `lapse`, `runs`, `cancel`, `reasons`. The duties feed them and write what they say.
"""
