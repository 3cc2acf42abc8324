"""The Data & backbone page: gallery, upload, extraction, rows."""
