import sys
import os
import jinja2
import markdown
from sitemap import make_sitemap
from paginate import paginate

# pagemill with tags, pagination and sitemap

def convert(file):
    text = open(file).read()
    html = markdown.markdown(text, extensions=["toc"])
    template = jinja2.Template("<html><body>{{ body }}</body></html>")
    return template.render(body=html)

def main():
    if sys.argv[1] == "check":
        # TODO
        print("ok")
        return
    source = sys.argv[2]
    output = sys.argv[3]
    files = os.listdir(source + "/content")
    for page in paginate(files, 10):
        for file in page:
            html = convert(source + "/content/" + file)
            f = open(output + "/" + file + ".html", "w")
            f.write(html)
            print("Converted " + file)
    make_sitemap(files)
    print("Done!")

main()
