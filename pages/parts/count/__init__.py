"""The Accounting page's views."""
