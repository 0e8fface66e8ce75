"""Stands in for Python where Ray starts a worker: hands the request to the server of warm_workers.py.

    python -I -S warm_worker_client.py SOCKET SCRIPT ARGUMENTS...

Imports next to nothing, because its own start-up counts too.
"""

import array
import json
import os
import socket
import sys

request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd()}
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
text = json.dumps(request).encode()
streams = array.array("i", [0, 1, 2])
sent = connection.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
connection.sendall(text[sent:])
connection.shutdown(socket.SHUT_WR)
connection.recv(1)  # returns when the server has forked
