"""The rows of `bench/planner.py`, by what they ask: each module has functions that take the bench and add its figures."""
