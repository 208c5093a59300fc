"""Writer for sitemap.xml."""
from xml.sax.saxutils import escape


def render_sitemap(entries: list[tuple[str, str, str]]) -> str:
    """Render (url, permalink, date) entries as an XML document."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
    ]
    for _, permalink, date in sorted(entries):
        lines.append("  <url>")
        lines.append(f"    <loc>{escape(permalink)}</loc>")
        if date:
            lines.append(f"    <lastmod>{escape(date)}</lastmod>")
        lines.append("  </url>")
    lines.append("</urlset>")
    return "\n".join(lines) + "\n"
