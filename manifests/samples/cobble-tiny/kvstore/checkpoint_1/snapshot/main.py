# Key value store
# usage: /set?key=a&value=1   /get?key=a   /delete?key=a
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse, parse_qs

store = {}

class MyHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlparse(self.path)
        q = parse_qs(url.query)
        if url.path == '/health':
            self.send('OK')
        elif url.path == '/set':
            store[q['key'][0]] = q['value'][0]
            self.send('stored')
        elif url.path == '/get':
            self.send(store.get(q['key'][0], 'None'))
        elif url.path == '/delete':
            store.pop(q['key'][0])
            self.send('deleted')
        elif url.path == '/kv':
            self.send(str(list(store.keys())))
        else:
            self.send_error(404)

    def send(self, text):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

port = int(sys.argv[2])
datadir = sys.argv[4]
ThreadingHTTPServer(('127.0.0.1', port), MyHandler).serve_forever()
