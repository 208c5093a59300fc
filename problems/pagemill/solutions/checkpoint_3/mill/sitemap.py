"""sitemap.xml"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
NAME = "sitemap.xml"


def sitemap(entries: Iterable[tuple[str, str]]) -> bytes:
    """The document for pairs of permalink and date, which may be empty."""
    root = ElementTree.Element("urlset", xmlns=NAMESPACE)
    for permalink, date in entries:
        url = ElementTree.SubElement(root, "url")
        ElementTree.SubElement(url, "loc").text = permalink
        if date:
            ElementTree.SubElement(url, "lastmod").text = date
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
