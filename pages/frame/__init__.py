"""What all pages share: settings and their URL, sidebar, figures with table and exports, badges,
jobs."""
