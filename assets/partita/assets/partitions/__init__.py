"""Partition definitions, the spaces of existing partitions, and partition sets."""
