"""The larger parts of pages, a folder a page: settings and core calls in, figures and tables
drawn."""
