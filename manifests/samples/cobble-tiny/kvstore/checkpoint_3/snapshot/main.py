# Document API v2
import sys
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class MyHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/health':
            self.send(200, {'status': 'ok'})
        elif self.path.startswith('/kv'):
            self.send(410, {'error': 'gone'})
        else:
            # TODO: collections
            self.send(404, {'error': 'not implemented yet'})

    do_DELETE = do_GET

    def send(self, status, obj):
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.end_headers()
        self.wfile.write(json.dumps(obj).encode())

# TODO: do_PUT, do_POST

port = int(sys.argv[2])
datadir = sys.argv[4]
ThreadingHTTPServer(('127.0.0.1', port), MyHandler).serve_forever()
