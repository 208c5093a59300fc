import sys
import jinja2
import markdown

# pagemill

def main():
    file = sys.argv[1]
    text = open(file).read()
    html = markdown.markdown(text)
    template = jinja2.Template("<html><body>{{ body }}</body></html>")
    print(template.render(body=html))

main()
