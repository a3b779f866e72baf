"""Code fingerprints: what makes a cell stale when code changes, and what does not."""

from partita.sdk.fingerprint.modules import Sources
from partita.sdk.fingerprint.reach import fingerprint_of, sources_of

__all__ = ["Sources", "fingerprint_of", "sources_of"]
