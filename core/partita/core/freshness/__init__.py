"""Freshness policies (S-205): what is due by them, the duty that looks, what it says to people. Nothing runs for it."""

from partita.core.freshness.dues import policy_text_of, wanted_policies
from partita.core.freshness.looking import look_at_freshness

__all__ = ["look_at_freshness", "policy_text_of", "wanted_policies"]
