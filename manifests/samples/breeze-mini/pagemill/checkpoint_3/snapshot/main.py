import argparse
import glob
import json
import os
import re
import shutil
import sys
import tomllib
from datetime import datetime

import markdown
from jinja2 import Environment, FileSystemLoader, TemplateNotFound


def die(msg):
    print(f"error: {msg}", file=sys.stderr)
    sys.exit(1)


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
        return [x.strip() for x in v[1:-1].split(",") if x.strip()]
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


def slugify(s):
    return re.sub(r"[^a-z0-9]+", "-", s.lower()).strip("-")


def fix_links(text, page, sources):
    # turn [text](file.md) into [text](file.html)
    def repl(m):
        target = m.group(2)
        if target.startswith("http") or target.startswith("/"):
            return m.group(0)
        path = target.split("#")[0]
        full = os.path.normpath(os.path.join(os.path.dirname(page["source"]), path))
        if full not in sources:
            die(f"content/{page['source']}: broken link: {target}")
        return f"[{m.group(1)}]({target.replace('.md', '.html')})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]*\.md[^)\s]*)\)", repl, text)


def get_toc(tokens):
    result = []
    for t in tokens:
        if t["level"] > 1:
            result.append({"level": t["level"], "id": t["id"], "name": t["name"]})
        result += get_toc(t["children"])
    return result


def build(source, output, drafts_too=False):
    if not os.path.isdir(source):
        die(f"{source}: not a directory")
    content_dir = os.path.join(source, "content")
    env = Environment(loader=FileSystemLoader(os.path.join(source, "templates")))

    site = {"title": "Untitled", "base_url": ""}
    site_file = os.path.join(source, "site.toml")
    if os.path.exists(site_file):
        with open(site_file, "rb") as f:
            site.update(tomllib.load(f))
    site["base_url"] = os.environ.get("PAGEMILL_BASE_URL", site["base_url"]).rstrip("/")

    pages = []
    drafts = 0
    for path in sorted(glob.glob(os.path.join(content_dir, "**", "*.md"), recursive=True)):
        rel = os.path.relpath(path, content_dir)
        with open(path) as f:
            meta, body = parse_page(f.read())
        if meta.get("draft") and not drafts_too:
            drafts += 1
            continue
        page = {
            "title": os.path.splitext(os.path.basename(path))[0],
            "url": rel[:-3] + ".html",
            "source": rel,
            "template": "page.html",
            "date": "",
            "tags": [],
        }
        page.update(meta)
        page["permalink"] = site["base_url"] + "/" + page["url"]
        page["body"] = body
        if page["date"]:
            datetime.strptime(page["date"], "%Y-%m-%d")
        pages.append(page)

    posts = sorted([p for p in pages if p["date"]], key=lambda p: p["date"], reverse=True)
    tags = {}
    for page in pages:
        for name in page["tags"]:
            slug = slugify(name)
            if slug not in tags:
                tags[slug] = {"name": name, "slug": slug, "url": f"tags/{slug}.html", "pages": []}
            tags[slug]["pages"].append(page)
    all_tags = [tags[s] for s in sorted(tags)]
    sources = [p["source"] for p in pages]

    def write(url, template_name, **kwargs):
        template = env.get_template(template_name)
        root = "../" * url.count("/")
        result = template.render(site=site, pages=pages, posts=posts, tags=all_tags, root=root, **kwargs)
        out_path = os.path.join(output, url)
        os.makedirs(os.path.dirname(out_path), exist_ok=True)
        with open(out_path, "w") as f:
            f.write(result)
        print(f"wrote {url}")

    old_files = []
    record = os.path.join(output, ".pagemill.json")
    if os.path.exists(record):
        with open(record) as f:
            old_files = json.load(f)
    new_files = []
    sitemap = []

    os.makedirs(output, exist_ok=True)
    for page in pages:
        md = markdown.Markdown(extensions=["tables", "toc"])
        html = md.convert(fix_links(page["body"], page, sources))
        page["toc"] = get_toc(md.toc_tokens)
        try:
            if "paginate" in page:
                n = int(page["paginate"])
                total = (len(posts) + n - 1) // n
                base = page["url"][:-5]
                urls = [page["url"]] + [f"{base}-{i}.html" for i in range(2, total + 1)]
                for i in range(total):
                    paginator = {
                        "posts": posts[i * n:(i + 1) * n],
                        "number": i + 1,
                        "total": total,
                        "prev_url": urls[i - 1] if i > 0 else None,
                        "next_url": urls[i + 1] if i + 1 < total else None,
                    }
                    write(urls[i], page["template"], page=page, content=html, paginator=paginator)
                    new_files.append(urls[i])
                    sitemap.append((urls[i], page["date"]))
            else:
                write(page["url"], page["template"], page=page, content=html, paginator=None)
                new_files.append(page["url"])
                if page.get("sitemap", True):
                    sitemap.append((page["url"], page["date"]))
        except TemplateNotFound:
            die(f"content/{page['source']}: template not found: {page['template']}")
    for tag in all_tags:
        tag_page = {"title": tag["name"], "url": tag["url"], "permalink": site["base_url"] + "/" + tag["url"], "toc": []}
        write(tag["url"], "tag.html", page=tag_page, tag=tag, content="", paginator=None)
        new_files.append(tag["url"])
        sitemap.append((tag["url"], ""))
    built = len(new_files)

    if site["base_url"]:
        with open(os.path.join(output, "sitemap.xml"), "w") as f:
            f.write('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
            for url, date in sorted(sitemap):
                lastmod = f"<lastmod>{date}</lastmod>" if date else ""
                f.write(f"<url><loc>{site['base_url']}/{url}</loc>{lastmod}</url>\n")
            f.write("</urlset>\n")
        print("wrote sitemap.xml")
        new_files.append("sitemap.xml")

    static = os.path.join(source, "static")
    for path in sorted(glob.glob(os.path.join(static, "**", "*"), recursive=True)):
        if os.path.isfile(path):
            rel = os.path.relpath(path, static)
            dest = os.path.join(output, rel)
            os.makedirs(os.path.dirname(dest), exist_ok=True)
            shutil.copy(path, dest)
            print(f"copied {rel}")
            new_files.append(rel)

    removed = 0
    for name in old_files:
        if name not in new_files:
            os.remove(os.path.join(output, name))
            print(f"removed {name}")
            removed += 1
    with open(record, "w") as f:
        json.dump(new_files, f)
    print(f"built={built} drafts={drafts} removed={removed}")


def check(source):
    import tempfile
    with tempfile.TemporaryDirectory() as tmp:
        build(source, tmp)
    print("ok")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    sub = parser.add_subparsers(dest="cmd", required=True)
    b = sub.add_parser("build")
    b.add_argument("--drafts", action="store_true")
    b.add_argument("source")
    b.add_argument("output")
    c = sub.add_parser("check")
    c.add_argument("source")
    args = parser.parse_args()
    if args.cmd == "check":
        check(args.source)
    else:
        build(args.source, args.output, args.drafts)
