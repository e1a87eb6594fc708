"""hello.py - a server and its workers over ZeroMQ: hello.c by way of ctypes, and each process may as well be that.

    python3 examples/hello.py 'listen=tcp://127.0.0.1:5555;workers=1' &
    python3 examples/hello.py 'connect=tcp://127.0.0.1:5555;workers=1'

LD_LIBRARY_PATH says where libtithe_zmq is, if the system does not know."""
import ctypes
import sys
from ctypes import byref


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("position", ctypes.c_size_t), ("text", ctypes.c_char * 240)]


N = 8
group = sys.argv[1] if len(sys.argv) > 1 else ""
options = sys.argv[2] if len(sys.argv) > 2 else "codec=topk:keep=0.5;feedback=ec"
tithe = ctypes.CDLL("libtithe_zmq.so.0")
comm, exchange, error = ctypes.c_void_p(), ctypes.c_void_p(), Error()
status = tithe.tithe_comm_zmq_open(group.encode(), byref(comm), byref(error))
if not status and tithe.tithe_comm_local_ranks(comm) == 0:
    status = tithe.tithe_serve(comm, byref(error))
elif not status:
    status = tithe.tithe_exchange_open(comm, options.encode(), ctypes.c_size_t(N), byref(exchange), byref(error))
for step in (1, 2):
    if exchange and not status:
        g = (ctypes.c_float * N)(*[(tithe.tithe_comm_rank(comm) + 1) * (i + 1) if step == 1 else 0 for i in range(N)])
        status = tithe.tithe_exchange_step(exchange, g, ctypes.c_double(tithe.tithe_comm_size(comm)), byref(error))  # size * mean = sum
    if exchange and not status:
        print("sum:", *g)
tithe.tithe_exchange_free(exchange)
tithe.tithe_comm_free(comm)  # whoever waits for this process hears why it ends
if status:
    sys.exit("hello: " + error.text.decode())
