"""Statements of identities for people: locations by name."""

from __future__ import annotations

from sqlalchemy import text

LOCATION_IDS = text("SELECT id, name FROM location ORDER BY name")
