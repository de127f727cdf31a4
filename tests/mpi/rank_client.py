"""Stands for a rank that `rank_server.py` forks: hands it arguments, variables, folder and open files; ends as it ends.

Started as ``python -S -E rank_client.py NAME -m subsalt ...`` (or ``-c TEXT``): it imports next to nothing.
"""

import _signal
import _socket
import marshal
import os
import sys
from array import array

FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGUSR1)

server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect("\0" + sys.argv[1])
# the process manager of MPICH gives each rank a socket, whose number it says in PMI_FD
files = [0, 1, 2, *([int(os.environ["PMI_FD"])] if "PMI_FD" in os.environ else [])]
request = marshal.dumps((sys.argv[2:], dict(os.environ), os.getcwd(), files))
rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", files))
server.sendmsg([len(request).to_bytes(4, "big")], [rights])
server.sendall(request)
for number in FORWARDED:
    _signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
ended = server.recv(8)
code = int(ended) if ended else -_signal.SIGKILL
if code < 0:
    if -code in FORWARDED:
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
