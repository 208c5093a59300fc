"""pagemill: Markdown pages and Jinja2 templates become HTML files."""
