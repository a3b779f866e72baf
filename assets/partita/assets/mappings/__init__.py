"""Mappings between the partitions of two assets: their definitions and their evaluation."""
