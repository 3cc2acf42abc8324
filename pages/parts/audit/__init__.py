"""The Evidence page: attacks, audits, the leak of a score."""
