"""The larger parts of pages, one per file: settings and core calls in, figures and tables drawn."""
