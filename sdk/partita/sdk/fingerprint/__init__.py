"""Code fingerprints: what makes a cell stale when code changes, and what does not."""

from partita.sdk.fingerprint.ignore import ignore_for_version
from partita.sdk.fingerprint.modules import Sources
from partita.sdk.fingerprint.reach import Code, code_of, fingerprint_of, fingerprint_with, sources_of

__all__ = ["Code", "Sources", "code_of", "fingerprint_of", "fingerprint_with", "ignore_for_version", "sources_of"]
