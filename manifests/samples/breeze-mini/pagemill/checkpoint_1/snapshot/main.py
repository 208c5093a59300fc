import argparse
import glob
import os
import sys

import markdown
from jinja2 import Environment, FileSystemLoader, TemplateNotFound


def parse_value(v):
    if v.startswith('"') and v.endswith('"'):
        v = v[1:-1]
        if v.isdigit():
            return v
    if v == "true":
        return True
    if v == "false":
        return False
    if v.isdigit():
        return int(v)
    if v.startswith("[") and v.endswith("]"):
        return [x.strip() for x in v[1:-1].split(",")]
    return v


def parse_page(text):
    meta = {}
    if text.startswith("---"):
        # front matter is between the first two ---
        _, fm, body = text.split("---", 2)
        for line in fm.strip().split("\n"):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            key, value = line.split(":", 1)
            meta[key.strip()] = parse_value(value.strip())
        return meta, body
    return meta, text


def build(source, output):
    if not os.path.isdir(source):
        print(f"error: {source}: not a directory", file=sys.stderr)
        sys.exit(1)
    content_dir = os.path.join(source, "content")
    env = Environment(loader=FileSystemLoader(os.path.join(source, "templates")))

    pages = []
    drafts = 0
    for path in sorted(glob.glob(os.path.join(content_dir, "**", "*.md"), recursive=True)):
        rel = os.path.relpath(path, content_dir)
        with open(path) as f:
            meta, body = parse_page(f.read())
        if meta.get("draft"):
            drafts += 1
            continue
        page = {
            "title": os.path.splitext(os.path.basename(path))[0],
            "url": rel[:-3] + ".html",
            "source": rel,
            "template": "page.html",
        }
        page.update(meta)
        page["body"] = body
        pages.append(page)

    os.makedirs(output, exist_ok=True)
    for page in pages:
        html = markdown.markdown(page["body"], extensions=["tables", "fenced_code"])
        root = "../" if "/" in page["url"] else ""
        try:
            template = env.get_template(page["template"])
        except TemplateNotFound:
            print(f"error: content/{page['source']}: template not found: {page['template']}", file=sys.stderr)
            sys.exit(1)
        result = template.render(page=page, pages=pages, content=html, root=root)
        out_path = os.path.join(output, page["url"])
        os.makedirs(os.path.dirname(out_path), exist_ok=True)
        with open(out_path, "w") as f:
            f.write(result)
        print(f"wrote {page['url']}")
    print(f"built={len(pages)} drafts={drafts}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    sub = parser.add_subparsers(dest="cmd", required=True)
    b = sub.add_parser("build")
    b.add_argument("source")
    b.add_argument("output")
    args = parser.parse_args()
    build(args.source, args.output)
