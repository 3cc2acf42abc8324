"""The page Rows: gallery, upload, extraction, rows."""
