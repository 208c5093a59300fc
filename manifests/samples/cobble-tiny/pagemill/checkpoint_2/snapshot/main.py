import sys
import os
import jinja2
import markdown

# pagemill with tags

def convert(file):
    text = open(file).read()
    html = markdown.markdown(text)
    template = jinja2.Template("<html><body>{{ body }}</body></html>")
    return template.render(body=html)

def get_tags(file):
    tags = []
    for line in open(file):
        if line.startswith("tags:"):
            tags = line[5:].split(",")
    return tags

def main():
    source = sys.argv[2]
    output = sys.argv[3]
    for file in os.listdir(source + "/content"):
        html = convert(source + "/content/" + file)
        f = open(output + "/" + file + ".html", "w")
        f.write(html)
        print("Converted " + file + " tags: " + str(get_tags(source + "/content/" + file)))
    print("Done!")

main()
