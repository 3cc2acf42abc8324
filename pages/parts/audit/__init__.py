"""The page Audit: attacks, audits, the leak of a score."""
