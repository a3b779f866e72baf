"""Floor 1: the pure model. Owns keys, partitions, sets, mappings, graph, snapshot; does no I/O and reads no clock."""
