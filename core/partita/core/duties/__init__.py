"""The duties of the control plane: one bounded transaction each, written over the store port.

A duty reads and locks candidates, asks a pure decider (`partita.core.decide`), writes what it says, and returns what
changed together with the channels that are worth waking. It never wakes anybody, never sleeps, reads no clock but the
transaction's, and keeps nothing between calls: every duty may die at any statement and be called again by anybody.
"""
