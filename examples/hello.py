"""hello.py - a server and its workers over ZeroMQ: hello.c by way of ctypes, and each process may as well be that.

    python3 examples/hello.py 'listen=tcp://127.0.0.1:5555;workers=1' &
    python3 examples/hello.py 'connect=tcp://127.0.0.1:5555;workers=1'

LD_LIBRARY_PATH says where libtithe_zmq is, if the system does not know."""

import ctypes
import sys


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("position", ctypes.c_size_t), ("text", ctypes.c_char * 240)]


N = 8
tithe = ctypes.CDLL("libtithe_zmq.so.0")
comm, exchange, error = ctypes.c_void_p(), ctypes.c_void_p(), Error()


def expect(status):
    if status:
        if comm:
            tithe.tithe_comm_give_up(comm, error.text)  # so that nobody waits for this process
        tithe.tithe_comm_free(comm)
        sys.exit("hello: " + error.text.decode())


group = sys.argv[1] if len(sys.argv) > 1 else ""
options = sys.argv[2] if len(sys.argv) > 2 else "codec=topk:keep=0.5;feedback=ec"
expect(tithe.tithe_comm_zmq_open(group.encode(), ctypes.byref(comm), ctypes.byref(error)))
if tithe.tithe_comm_local_ranks(comm) == 0:
    expect(tithe.tithe_serve(comm, ctypes.byref(error)))
    print("server: done")
else:
    rank, workers = tithe.tithe_comm_rank(comm), tithe.tithe_comm_size(comm)
    expect(tithe.tithe_exchange_open(comm, options.encode(), ctypes.c_size_t(N), ctypes.byref(exchange), ctypes.byref(error)))
    for step in (1, 2):
        g = (ctypes.c_float * N)(*[(rank + 1) * (i + 1) if step == 1 else 0 for i in range(N)])
        expect(tithe.tithe_exchange_step(exchange, g, ctypes.c_double(workers), ctypes.byref(error)))  # so often the mean is the sum
        print(f"step {step}:", *g)
tithe.tithe_exchange_free(exchange)
tithe.tithe_comm_free(comm)
